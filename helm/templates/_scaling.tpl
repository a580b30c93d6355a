{{/* The most pods: no more than there are partitions. */}}
{{- define "lethe.maxReplicas" -}}
{{- $most := int64 .Values.autoscaling.maxReplicas -}}
{{- $partitions := int64 .Values.partitions -}}
{{- if gt $partitions 0 -}}{{ min $most $partitions }}{{- else -}}{{ $most }}{{- end -}}
{{- end -}}

{{/* Up at once, down slowly: each change is a rebalance, and what a pod holds is written early when it goes. */}}
{{- define "lethe.behavior" -}}
scaleUp:
  stabilizationWindowSeconds: 60
  policies:
    - type: Pods
      value: 2
      periodSeconds: 60
scaleDown:
  stabilizationWindowSeconds: {{ .Values.autoscaling.scaleDownStabilizationSeconds }}
  policies:
    - type: Pods
      value: 1
      periodSeconds: {{ .Values.autoscaling.scaleDownPeriodSeconds }}
{{- end -}}
