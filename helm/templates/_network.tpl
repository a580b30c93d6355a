{{/* One egress rule per peer. Takes a list of peers. */}}
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

{{/* DNS uses UDP, and TCP for long answers. */}}
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
