# Databricks notebook source
# MAGIC %md
# MAGIC Redact a table of notes. The wheel of `lethe-deid` is installed as a cluster library or by the init script.

# COMMAND ----------

import lethe.spark

notes = spark.read.table("clinic.raw.notes")
redacted = lethe.spark.redact(
    notes,
    text="note",
    id="note_id",
    patient="mrn",
    known={"patient": "name"},
    policy="/Volumes/main/default/lethe/research.toml",
)
# Selected by name, so that a column that the source gains later does not leave.
redacted.select("note_id", "note").write.mode("overwrite").saveAsTable("research.redacted.notes")
