{{- define "lethe.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{/* Short enough that the name is still valid with a suffix. */}}
{{- define "lethe.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains (include "lethe.name" .) .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "lethe.name" .) | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* The selector labels of objects. They are immutable. */}}
{{- define "lethe.selector" -}}
app.kubernetes.io/name: {{ include "lethe.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "lethe.operatorSelector" -}}
{{ include "lethe.selector" . }}
app.kubernetes.io/component: {{ .Values.mode }}
{{- end -}}

{{- define "lethe.labels" -}}
{{ include "lethe.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "lethe.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "lethe.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "lethe.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ default $.Chart.AppVersion .tag }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* True if pods are static members of the group. */}}
{{- define "lethe.static" -}}
{{- and (eq .Values.mode "stream") .Values.static.enabled -}}
{{- end -}}

{{- define "lethe.scaled" -}}
{{- and (eq .Values.mode "stream") (or .Values.autoscaling.hpa.enabled .Values.autoscaling.keda.enabled) -}}
{{- end -}}

{{- define "lethe.workload" -}}
{{- if eq (include "lethe.static" .) "true" }}StatefulSet{{ else }}Deployment{{ end -}}
{{- end -}}

{{/* The port of the telemetry address. */}}
{{- define "lethe.port" -}}
{{- regexFind "[0-9]+$" .Values.config.telemetry.listen -}}
{{- end -}}

{{/* The minimum grace period of a pod, in seconds. */}}
{{- define "lethe.grace" -}}
{{- $least := add .Values.config.resources.drain_seconds .Values.terminationMarginSeconds -}}
{{- $given := .Values.terminationGracePeriodSeconds -}}
{{- if kindIs "invalid" $given -}}{{ $least }}{{- else -}}{{ int64 $given }}{{- end -}}
{{- end -}}

{{/* A Kubernetes quantity in bytes. */}}
{{- define "lethe.bytes" -}}
{{- /* toString would write a large number with an exponent. */ -}}
{{- $text := ternary (toString .) (toString (int64 .)) (kindIs "string" .) -}}
{{- $number := regexFind "^[0-9.]+" $text | float64 -}}
{{- $unit := regexReplaceAll "^[0-9.]+" $text "" -}}
{{- $units := dict "" 1 "k" 1000 "M" 1000000 "G" 1000000000 "T" 1000000000000 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 -}}
{{- if not (hasKey $units $unit) -}}{{ fail (printf "%s is no quantity of memory that this chart knows; write it as in 1280Mi or 2Gi" $text) }}{{- end -}}
{{- mulf $number (get $units $unit) | int64 -}}
{{- end -}}
