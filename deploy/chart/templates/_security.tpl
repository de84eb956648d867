{{- define "rdma-gate.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "rdma-gate.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{- define "rdma-gate.probes" -}}
startupProbe:
  httpGet: {path: /-/healthy, port: http}
  periodSeconds: 2
  failureThreshold: 60
livenessProbe:
  httpGet: {path: /-/healthy, port: http}
  timeoutSeconds: 5
readinessProbe:
  httpGet: {path: /-/ready, port: http}
  timeoutSeconds: 5
{{- end }}

{{/* The kubelet's socket is root's alone, so who reads it is root, without any capability. */}}
{{- define "rdma-gate.nodeSecurity" -}}
{{ include "rdma-gate.containerSecurity" . }}
{{- if .Values.node.podResources }}
runAsNonRoot: false
runAsUser: 0
{{- end }}
{{- end }}

{{- define "rdma-gate.nodeResources" -}}
{{- $resources := deepCopy .Values.node.resources }}
{{- with .Values.node.sharedPluginToken }}
{{- $_ := set $resources "limits" (merge (dict . 1) ($resources.limits | default dict)) }}
{{- $_ := set $resources "requests" (merge (dict . 1) ($resources.requests | default dict)) }}
{{- end }}
{{- toYaml $resources }}
{{- end }}
