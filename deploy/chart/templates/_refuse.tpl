{{/* What no schema can say: values that contradict each other. */}}
{{- define "rdma-gate.refuse" -}}
{{- $gate := .Values.gate }}
{{- if eq .Values.image.tag "latest" }}{{ fail "image.tag: latest found, a version wanted: nobody could say what ran" }}{{ end }}
{{- if and $gate.plan $gate.planConfigMap }}{{ fail "gate: plan and planConfigMap found, one of them wanted" }}{{ end }}
{{- if and $gate.decisions $gate.decisionsConfigMap }}{{ fail "gate: decisions and decisionsConfigMap found, one of them wanted" }}{{ end }}
{{- if and $gate.persistence.enabled (gt (int $gate.replicas) 1) }}{{ fail (printf "gate.persistence: enabled with %d replicas found, 1 replica wanted: two gates cannot share a claim" (int $gate.replicas)) }}{{ end }}
{{- end }}
