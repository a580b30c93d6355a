{{/*
Numbers in values are floats to Helm, so toToml writes 5.0 for 5, which the program refuses where it wants an integer.
This turns whole numbers into integers, in place, all the way down. The program takes an integer where it wants a float.
Takes a map; prints nothing.
*/}}
{{- define "lethe.integers" -}}
{{- $map := . -}}
{{- range $key, $value := $map -}}
  {{- if kindIs "invalid" $value -}}
    {{- $_ := unset $map $key -}}
  {{- else if kindIs "float64" $value -}}
    {{- if eq (floor $value) $value }}{{ $_ := set $map $key (int64 $value) }}{{ end -}}
  {{- else if kindIs "map" $value -}}
    {{- include "lethe.integers" $value -}}
  {{- else if kindIs "slice" $value -}}
    {{- $box := dict "items" (list) -}}
    {{- range $item := $value -}}
      {{- $one := dict "item" $item -}}
      {{- include "lethe.integers" $one -}}
      {{- $_ := set $box "items" (append $box.items $one.item) -}}
    {{- end -}}
    {{- $_ := set $map $key $box.items -}}
  {{- end -}}
{{- end -}}
{{- end -}}

{{/* The program's configuration: the values, and settings that only the chart knows. */}}
{{- define "lethe.config" -}}
{{- $config := deepCopy .Values.config -}}
{{- if eq (include "lethe.static" .) "true" -}}
  {{- $_ := set $config.source "group_instance_id" "${POD_NAME}" -}}
{{- end -}}
{{- /* The program compares it with the time that a stop may take. */ -}}
{{- $_ := set $config.resources "grace_seconds" (include "lethe.grace" . | int64) -}}
{{- include "lethe.integers" $config -}}
{{- toToml $config -}}
{{- end -}}
