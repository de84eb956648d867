{{/* Names of what has no namespace: two releases of one name may stand in two namespaces. */}}
{{- define "rdma-gate.clusterName" -}}{{ .Release.Namespace }}-{{ include "rdma-gate.name" . }}{{- end }}

{{- define "rdma-gate.subject" -}}
- kind: ServiceAccount
  name: {{ include "rdma-gate.name" . }}
  namespace: {{ .Release.Namespace }}
{{- end }}

{{/* Called with (list $ namespace name): metadata of a role or binding. */}}
{{- define "rdma-gate.roleMetadata" -}}
{{- $ := index . 0 }}
name: {{ index . 2 }}
namespace: {{ index . 1 }}
labels: {{- include "rdma-gate.labels" (list $ "gate") | nindent 2 }}
{{- end }}

{{/* Called with (list $ namespace name): gives the gate the role of that name there. */}}
{{- define "rdma-gate.binding" -}}
{{- $ := index . 0 }}
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {{- include "rdma-gate.roleMetadata" . | nindent 2 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{ index . 2 }}
subjects: {{- include "rdma-gate.subject" $ | nindent 2 }}
{{- end }}
