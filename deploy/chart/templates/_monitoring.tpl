{{/* Called with (list $ "gate"). */}}
{{- define "rdma-gate.monitoringLabels" -}}
{{ include "rdma-gate.labels" . }}
{{- with (index . 0).Values.monitoring.labels }}
{{ toYaml . }}
{{- end }}
{{- end }}
