{{/* Whole directories: a file mounted alone (subPath) would never change. */}}
{{- define "rdma-gate.planMounts" -}}
{{- if include "rdma-gate.plan" . }}
- {name: plan, mountPath: /etc/rdma-gate-plan, readOnly: true}
{{- end }}
{{- if include "rdma-gate.decisions" . }}
- {name: decisions, mountPath: /etc/rdma-gate-decisions, readOnly: true}
{{- end }}
{{- end }}

{{/* Called with (list $ "plan" text): the ConfigMap of a plan or of decisions that the values hold. */}}
{{- define "rdma-gate.document" -}}
{{- $name := index . 1 }}
{{- with index . 2 }}
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ include "rdma-gate.name" (index $ 0) }}-{{ $name }}
  namespace: {{ (index $ 0).Release.Namespace }}
  labels: {{- include "rdma-gate.labels" (list (index $ 0) "gate") | nindent 4 }}
data:
  {{ $name }}.yaml: |
    {{- . | nindent 4 }}
{{- end }}
{{- end }}
