{{/* rdma-gate.yaml of the gate: what the chart decides, then what the values add. */}}
{{- define "rdma-gate.gateSettings" -}}
{{- $own := dict
  "roles" (list "gate")
  "listen" (printf "%s:%d" .Values.listenAddress (int .Values.port))
  "listen_publicly" true
  "state_dir" "/var/lib/rdma-gate"
  "key_file" "/etc/rdma-gate-key/master.key"
  "kubernetes" (dict
    "namespace" .Release.Namespace
    "node_service" (include "rdma-gate.nodes" .)
    "lease" (include "rdma-gate.name" .)
    "test_namespaces" (concat .Values.rbac.workloads .Values.testPods.namespaces | uniq | sortAlpha)
    "runner_image" (include "rdma-gate.image" .)
    "test_pod_priority_class" (printf "%s-test" (include "rdma-gate.name" .))
    "pods_everywhere" .Values.rbac.podsEverywhere
    "node_conditions" .Values.outward.nodeConditions
    "events" .Values.outward.events)
}}
{{- if include "rdma-gate.plan" . }}{{ $_ := set $own "plan" "/etc/rdma-gate-plan/plan.yaml" }}{{ end }}
{{- if include "rdma-gate.decisions" . }}{{ $_ := set $own "decisions" "/etc/rdma-gate-decisions/decisions.yaml" }}{{ end }}
{{- merge $own (deepCopy .Values.gate.settings) | toYaml }}
{{- end }}

{{/* Of a node: prepare.sh adds the node's name. */}}
{{- define "rdma-gate.nodeSettings" -}}
{{- $own := dict
  "roles" (list "node")
  "listen" (printf "%s:%d" .Values.listenAddress (int .Values.port))
  "listen_publicly" true
  "state_dir" "/var/lib/rdma-gate"
  "node_key_file" "/run/rdma-gate/node.key"
}}
{{- merge $own (deepCopy .Values.node.settings) | toYaml }}
{{- end }}
