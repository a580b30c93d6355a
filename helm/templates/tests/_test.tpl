{{- define "lethe.testMetadata" -}}
labels:
  {{- include "lethe.labels" . | nindent 2 }}
  app.kubernetes.io/component: test
annotations:
  helm.sh/hook: test
  helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end -}}
