-- Rows of each topic, and the share of them that Lethe could not process.
{{ config(materialized="table") }}

select
    topic,
    count(*) as records,
    count(*) filter (where row_kind = 'note') as notes,
    sum(redactions)::bigint as redactions,
    avg((row_kind = 'quarantined')::int) as quarantined
from {{ source("lethe", "notes") }}
group by topic
