{{/* Refuses combinations of values that a schema cannot express. The configuration includes it, so that every render checks them. */}}
{{- define "lethe.refusals" -}}
{{- $v := .Values -}}
{{- $stream := eq $v.mode "stream" -}}
{{- if and $stream (not $v.config.source) -}}
  {{- fail "config.source: the mode `stream` reads Kafka; set the topics to read" -}}
{{- end -}}
{{- if and (not $stream) (not $v.config.backfill) -}}
  {{- fail "config.backfill: the mode `backfill` reads tables; set which" -}}
{{- end -}}
{{- if and $stream (ne (toString $v.config.source.kind) "kafka") -}}
  {{- fail "config.source.kind: the mode `stream` reads Kafka; tables are for the mode `backfill`" -}}
{{- end -}}
{{- $memory := int64 (include "lethe.bytes" $v.resources.limits.memory) -}}
{{- $least := add (int64 $v.config.resources.memory_bytes) (int64 $v.memoryMarginBytes) -}}
{{- if lt $memory $least -}}
  {{- fail (printf "resources.limits.memory: %v is %d bytes, but config.resources.memory_bytes and memoryMarginBytes are %d: the pod would be killed while the program keeps its budget" $v.resources.limits.memory $memory $least) -}}
{{- end -}}
{{- if $v.config.sink.store.kind | eq "folder" -}}
  {{- if not $v.extraVolumeMounts -}}
    {{- fail "config.sink.store: a folder needs a volume that outlives the pod; name one in extraVolumes and extraVolumeMounts" -}}
  {{- end -}}
{{- end -}}
{{- $grace := add (int64 $v.config.resources.drain_seconds) (int64 $v.terminationMarginSeconds) -}}
{{- if lt (int64 (include "lethe.grace" .)) $grace -}}
  {{- fail (printf "terminationGracePeriodSeconds: is %v, but a drain of config.resources.drain_seconds and the margin need %d: pods would be killed while they write" $v.terminationGracePeriodSeconds $grace) -}}
{{- end -}}
{{- $stall := int64 (default 300 $v.config.telemetry.stall_seconds) -}}
{{- if lt $stall (int64 $v.config.resources.drain_seconds) -}}
  {{- fail (printf "config.telemetry.stall_seconds: is %d, less than config.resources.drain_seconds: a pod that drains would look dead" $stall) -}}
{{- end -}}
{{- if and $v.config.policy $v.config.policy_file -}}
  {{- fail "config.policy and config.policy_file: set only one of the two" -}}
{{- end -}}
{{- if dig "policy" "keys" "file" "" $v.config -}}
  {{- fail "config.policy.keys.file: a mounted Secret can be read by its group, which the program refuses for keys; use secrets.policyKeys and config.policy.keys.env: LETHE_KEYS" -}}
{{- end -}}
{{- if and $v.autoscaling.hpa.enabled $v.autoscaling.keda.enabled -}}
  {{- fail "autoscaling: hpa and keda are both enabled; two scalers would scale the same pods" -}}
{{- end -}}
{{- if and (not $stream) (or $v.autoscaling.hpa.enabled $v.autoscaling.keda.enabled) -}}
  {{- fail "autoscaling: a backfill has one pod a shard; nothing can scale it" -}}
{{- end -}}
{{- if and (not $stream) $v.static.enabled -}}
  {{- fail "static.enabled: a backfill is not a member of a consumer group" -}}
{{- end -}}
{{- if eq (include "lethe.static" .) "true" -}}
  {{- if eq (include "lethe.scaled" .) "true" -}}
    {{- fail "static.enabled: a static member that is scaled away keeps its partitions until its session times out; leave autoscaling off" -}}
  {{- end -}}
  {{- if (dig "source" "group_instance_id" "" $v.config) -}}
    {{- fail "config.source.group_instance_id: static.enabled sets it from the pod's name; leave it out" -}}
  {{- end -}}
{{- else if (dig "source" "group_instance_id" "" $v.config) -}}
  {{- fail "config.source.group_instance_id: pods with the same name would fence each other; use static.enabled" -}}
{{- end -}}
{{- $partitions := int64 $v.partitions -}}
{{- if eq (include "lethe.scaled" .) "true" -}}
  {{- if gt (int64 $v.autoscaling.minReplicas) (int64 $v.autoscaling.maxReplicas) -}}
    {{- fail "autoscaling.minReplicas: is more than autoscaling.maxReplicas" -}}
  {{- end -}}
  {{- if and $v.autoscaling.hpa.enabled (lt (int64 $v.autoscaling.minReplicas) 1) -}}
    {{- fail "autoscaling.minReplicas: only keda scales to 0" -}}
  {{- end -}}
  {{- if and $v.autoscaling.keda.enabled (eq $partitions 0) -}}
    {{- fail "partitions: set the number of partitions; keda never starts more pods than that" -}}
  {{- end -}}
{{- else if and $stream (gt $partitions 0) (gt (int64 $v.replicas) $partitions) -}}
  {{- fail (printf "replicas: is %d, but there are %d partitions; more pods would idle" (int64 $v.replicas) $partitions) -}}
{{- end -}}
{{- if and $v.monitoring.podMonitor.enabled $v.monitoring.serviceMonitor.enabled -}}
  {{- fail "monitoring: podMonitor and serviceMonitor are both enabled; every sample would be scraped twice" -}}
{{- end -}}
{{- if and (not $stream) $v.monitoring.serviceMonitor.enabled -}}
  {{- fail "monitoring.serviceMonitor.enabled: a backfill has no Service; use monitoring.podMonitor" -}}
{{- end -}}
{{- if and (not $stream) (gt (int64 $v.backfill.parallelism) (int64 $v.backfill.shards)) -}}
  {{- fail "backfill.parallelism: is more than backfill.shards" -}}
{{- end -}}
{{- with $v.networkPolicy -}}
  {{- if and .enabled $stream (not .egress.brokers) -}}
    {{- fail "networkPolicy.egress.brokers: is empty, so pods could not reach a broker; list them, or set networkPolicy.enabled to false" -}}
  {{- end -}}
  {{- if and .enabled (has (toString $v.config.sink.store.kind) (list "s3" "azure" "gcs")) (not .egress.store) -}}
    {{- fail "networkPolicy.egress.store: is empty, so pods could not reach the store; list it, or set networkPolicy.enabled to false" -}}
  {{- end -}}
  {{- if and .enabled (dig "table" "catalog" "" $v.config.sink) (not .egress.catalog) -}}
    {{- fail "networkPolicy.egress.catalog: is empty, so pods could not reach config.sink.table.catalog" -}}
  {{- end -}}
  {{- if and .enabled (dig "backfill" "table" "catalog" "" $v.config) (not .egress.catalog) -}}
    {{- fail "networkPolicy.egress.catalog: is empty, so pods could not reach config.backfill.table.catalog" -}}
  {{- end -}}
  {{- if and .enabled (dig "backfill" "database" "" $v.config) (not .egress.database) -}}
    {{- fail "networkPolicy.egress.database: is empty, so pods could not reach config.backfill.database" -}}
  {{- end -}}
  {{- if and .enabled $v.config.telemetry.otlp (not .egress.otlp) -}}
    {{- fail "networkPolicy.egress.otlp: is empty, so pods could not reach config.telemetry.otlp" -}}
  {{- end -}}
{{- end -}}
{{- end -}}
