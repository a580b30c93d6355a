{{/* The environment of both containers: a check without a secret would check another configuration. */}}
{{- define "lethe.env" -}}
- name: LETHE_LOG
  value: {{ .Values.log.filter | quote }}
- name: POD_NAME
  valueFrom:
    fieldRef:
      fieldPath: metadata.name
{{- with .Values.secrets.policyKeys }}
{{- if .existingSecret }}
- name: LETHE_KEYS
  valueFrom:
    secretKeyRef:
      name: {{ .existingSecret }}
      key: {{ .key }}
{{- end }}
{{- end }}
{{- with .Values.secrets.vault }}
{{- if .existingSecret }}
- name: LETHE_VAULT
  valueFrom:
    secretKeyRef:
      name: {{ .existingSecret }}
      key: {{ .key }}
{{- end }}
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "lethe.mounts" -}}
- name: config
  mountPath: /etc/lethe
  readOnly: true
{{- if .Values.files }}
- name: files
  mountPath: /etc/lethe-files
  readOnly: true
{{- end }}
- name: tmp
  mountPath: /tmp
{{- range $name := list "kafka" "store" "registry" }}
{{- with get $.Values.secrets $name }}
{{- if .existingSecret }}
- name: secret-{{ $name }}
  mountPath: /run/secrets/lethe/{{ $name }}
  readOnly: true
{{- end }}
{{- end }}
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "lethe.volumes" -}}
- name: config
  {{- if .Values.configIsSecret }}
  secret:
    secretName: {{ include "lethe.fullname" . }}
    defaultMode: 0440
  {{- else }}
  configMap:
    name: {{ include "lethe.fullname" . }}
    defaultMode: 0440
  {{- end }}
{{- if .Values.files }}
- name: files
  configMap:
    name: {{ include "lethe.fullname" . }}-files
    defaultMode: 0440
{{- end }}
- name: tmp
  emptyDir:
    sizeLimit: {{ .Values.tmp.sizeLimit }}
    {{- with .Values.tmp.medium }}
    medium: {{ . }}
    {{- end }}
{{- range $name := list "kafka" "store" "registry" }}
{{- with get $.Values.secrets $name }}
{{- if .existingSecret }}
- name: secret-{{ $name }}
  secret:
    secretName: {{ .existingSecret }}
    # For the volume's group, which is the pod's fsGroup, and nobody else.
    defaultMode: 0440
    {{- with .keys }}
    items:
      {{- range . }}
      - key: {{ . }}
        path: {{ . }}
      {{- end }}
    {{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* An init container that checks the configuration with the program itself. */}}
{{- define "lethe.checker" -}}
- name: check
  image: {{ include "lethe.image" .root | quote }}
  imagePullPolicy: {{ .root.Values.image.pullPolicy }}
  args: [check, -c, /etc/lethe/lethe.toml]
  env:
    {{- include "lethe.env" .root | nindent 4 }}
  securityContext:
    {{- toYaml .root.Values.securityContext | nindent 4 }}
  resources:
    {{- toYaml .resources | nindent 4 }}
  volumeMounts:
    {{- include "lethe.mounts" .root | nindent 4 }}
{{- end -}}

{{/* Scheduling constraints of pods. */}}
{{- define "lethe.placement" -}}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
affinity:
{{- if .Values.affinity }}
  {{- toYaml .Values.affinity | nindent 2 }}
{{- else }}
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 100
        podAffinityTerm:
          topologyKey: kubernetes.io/hostname
          labelSelector:
            matchLabels:
              {{- include "lethe.operatorSelector" . | nindent 14 }}
{{- end }}
topologySpreadConstraints:
{{- if .Values.topologySpreadConstraints }}
  {{- toYaml .Values.topologySpreadConstraints | nindent 2 }}
{{- else }}
  - maxSkew: 1
    topologyKey: topology.kubernetes.io/zone
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "lethe.operatorSelector" . | nindent 8 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end -}}

{{/* Fields that all pods share. */}}
{{- define "lethe.podBase" -}}
serviceAccountName: {{ include "lethe.serviceAccount" . }}
# The program asks nothing of the cluster.
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  {{- toYaml .Values.podSecurityContext | nindent 2 }}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* The pod of every mode: metadata and spec. */}}
{{- define "lethe.pod" -}}
{{- $backfill := eq .Values.mode "backfill" -}}
metadata:
  labels:
    # No version of the chart: a new one alone is no reason for a rebalance, or for another Job.
    {{- include "lethe.operatorSelector" . | nindent 4 }}
    {{- with .Values.commonLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    # Another configuration is another pod.
    checksum/config: {{ include "lethe.config" . | sha256sum }}
    checksum/files: {{ toYaml .Values.files | sha256sum }}
    {{- with .Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  {{- include "lethe.podBase" . | nindent 2 }}
  terminationGracePeriodSeconds: {{ include "lethe.grace" . }}
  {{- if $backfill }}
  # The Job makes a new pod, so that its policy sees each exit code.
  restartPolicy: Never
  {{- end }}
  {{- include "lethe.placement" . | nindent 2 }}
  {{- if .Values.check.enabled }}
  initContainers:
    {{- include "lethe.checker" (dict "root" . "resources" .Values.check.resources) | nindent 4 }}
  {{- end }}
  containers:
    - name: lethe
      image: {{ include "lethe.image" . | quote }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args:
        - --log-format
        - {{ .Values.log.format }}
        {{- if $backfill }}
        - backfill
        - -c
        - /etc/lethe/lethe.toml
        - --shard
        # Kubernetes sets the index, from 0, and puts it in here.
        - "$(JOB_COMPLETION_INDEX)/{{ .Values.backfill.shards }}"
        {{- else }}
        - run
        - -c
        - /etc/lethe/lethe.toml
        {{- end }}
      env:
        {{- include "lethe.env" . | nindent 8 }}
      ports:
        - name: telemetry
          containerPort: {{ include "lethe.port" . }}
          protocol: TCP
      {{- if not $backfill }}
      startupProbe:
        httpGet: {path: /live, port: telemetry}
        {{- toYaml .Values.probes.startup | nindent 8 }}
      livenessProbe:
        httpGet: {path: /live, port: telemetry}
        {{- toYaml .Values.probes.liveness | nindent 8 }}
      readinessProbe:
        httpGet: {path: /ready, port: telemetry}
        {{- toYaml .Values.probes.readiness | nindent 8 }}
      {{- end }}
      securityContext:
        {{- toYaml .Values.securityContext | nindent 8 }}
      resources:
        {{- toYaml .Values.resources | nindent 8 }}
      volumeMounts:
        {{- include "lethe.mounts" . | nindent 8 }}
  volumes:
    {{- include "lethe.volumes" . | nindent 4 }}
{{- end -}}
