{{/* The maximum number of pods, capped at the number of partitions. */}}
{{- define "lethe.maxReplicas" -}}
{{- $most := int64 .Values.autoscaling.maxReplicas -}}
{{- $partitions := int64 .Values.partitions -}}
{{- if gt $partitions 0 -}}{{ min $most $partitions }}{{- else -}}{{ $most }}{{- end -}}
{{- end -}}

{{/* Scales up at once and down slowly: each change is a rebalance, and a removed pod closes its files early. */}}
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
