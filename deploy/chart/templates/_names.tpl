{{- define "rdma-gate.name" -}}
{{- if .Values.fullnameOverride }}{{ .Values.fullnameOverride }}
{{- else if contains "rdma-gate" .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else }}{{ printf "%s-rdma-gate" (.Release.Name | trunc 40 | trimSuffix "-") }}{{ end }}
{{- end }}

{{- define "rdma-gate.nodes" -}}{{ include "rdma-gate.name" . }}-nodes{{- end }}

{{- define "rdma-gate.secret" -}}{{ .Values.key.existingSecret | default (printf "%s-key" (include "rdma-gate.name" .)) }}{{- end }}

{{- define "rdma-gate.plan" -}}
{{ .Values.gate.planConfigMap | default (ternary (printf "%s-plan" (include "rdma-gate.name" .)) "" (ne .Values.gate.plan "")) }}
{{- end }}

{{- define "rdma-gate.decisions" -}}
{{ .Values.gate.decisionsConfigMap | default (ternary (printf "%s-decisions" (include "rdma-gate.name" .)) "" (ne .Values.gate.decisions "")) }}
{{- end }}

{{- define "rdma-gate.image" -}}
{{ .Values.image.repository }}{{ if .Values.image.digest }}@{{ .Values.image.digest }}{{ else }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}
{{- end }}

{{/* Called with (list $ "gate"). */}}
{{- define "rdma-gate.selector" -}}
app.kubernetes.io/name: rdma-gate
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{- define "rdma-gate.labels" -}}
{{ include "rdma-gate.selector" . }}
app.kubernetes.io/version: {{ (index . 0).Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ (index . 0).Release.Service }}
{{- end }}
