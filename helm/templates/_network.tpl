{{/* One rule of egress a peer. Takes a list of peers. */}}
{{- define "lethe.peers" -}}
{{- range . }}
- to:
    {{- if .cidr }}
    - ipBlock:
        cidr: {{ .cidr }}
        {{- with .except }}
        except: {{ toJson . }}
        {{- end }}
    {{- else }}
    - {{- with .namespaceSelector }}
      namespaceSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .podSelector }}
      podSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
    {{- end }}
  ports:
    {{- range .ports }}
    - port: {{ . }}
      protocol: TCP
    {{- end }}
{{- end }}
{{- end -}}

{{/* Names are asked for by UDP, and by TCP where answers are long. */}}
{{- define "lethe.dns" -}}
{{- range . }}
- to:
    {{- if .cidr }}
    - ipBlock:
        cidr: {{ .cidr }}
    {{- else }}
    - {{- with .namespaceSelector }}
      namespaceSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .podSelector }}
      podSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
    {{- end }}
  ports:
    {{- range .ports }}
    - port: {{ . }}
      protocol: UDP
    - port: {{ . }}
      protocol: TCP
    {{- end }}
{{- end }}
{{- end -}}
