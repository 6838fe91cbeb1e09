{{- define "guildhall.labels" -}}
app.kubernetes.io/name: guildhall
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}
