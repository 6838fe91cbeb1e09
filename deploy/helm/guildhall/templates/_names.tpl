{{- define "guildhall.labels" -}}
app.kubernetes.io/name: guildhall
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}
{{- define "guildhall.postgres.labels" -}}
app.kubernetes.io/name: guildhall-postgres
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}
{{- define "guildhall.pooler.labels" -}}
app.kubernetes.io/name: guildhall-pgbouncer
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}
