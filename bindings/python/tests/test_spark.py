"""Spark on a real standalone cluster: a master and two workers."""

import pathlib
import sys
import threading
import time

import pytest
from cluster import LIMIT, Cluster
from pyspark.sql import SparkSession
from test_guides import follow

import lethe
import lethe.spark

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")

POLICY = 'mode = "custom"\ndefault = { action = "pseudonym" }\n'


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    started = Cluster(tmp_path_factory.mktemp("cluster"), workers=2)
    yield started
    started.stop()


@pytest.fixture(scope="module")
def spark(cluster, tmp_path_factory):
    with pytest.MonkeyPatch.context() as environment:
        # The interpreter of the executors is the one that the driver names.
        environment.setenv("PYSPARK_PYTHON", sys.executable)
        # Spark keeps the folder that it was started in, where the guide has its files.
        environment.chdir(tmp_path_factory.mktemp("guide"))
        yield from session(cluster, tmp_path_factory.mktemp("warehouse"))


def session(cluster, warehouse):
    spark = (
        SparkSession.builder.master(cluster.url)
        .appName("lethe tests")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.executor.memory", "512m")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", "50")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.sql.warehouse.dir", str(warehouse))
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    yield spark
    spark.stop()


def notes(count, note):
    """Rows of notes that differ, with a missing one in every hundred."""
    rows = []
    for number in range(count):
        text = None if number % 100 == 50 else f"{note} Dr. Quorx asked for chart {100_000 + number}."
        rows.append((number, f"p-{number % 7}", text))
    return rows


SCHEMA = "id bigint not null, mrn string, note string"


def expected(engine, rows):
    return {row[0]: None if row[2] is None else engine.redact(row[2], patient=row[1]).text for row in rows}


def test_rows_and_schema_stay_and_the_text_is_the_engines(spark, engine, note):
    rows = notes(1000, note)
    frame = spark.createDataFrame(rows, SCHEMA).repartition(8)
    redacted = lethe.spark.redact(frame, text="note", id="id", patient="mrn", bundle="en-fast")
    assert redacted.schema == frame.schema
    collected = redacted.collect()
    assert len(collected) == len(rows)
    assert {row.id: row.note for row in collected} == expected(engine, rows)
    assert {row.id: row.mrn for row in collected} == {row[0]: row[1] for row in rows}


def test_what_other_columns_know_of_the_patient_is_redacted(spark):
    frame = spark.createDataFrame([("The chart of quorx was checked.", "Ada Quorx")], "note string, name string")
    redacted = lethe.spark.redact(frame, text="note", known={"patient": "name"})
    assert redacted.first().note == "The chart of [PATIENT] was checked."


def test_the_audit_names_each_identifier_by_the_id_of_its_note(spark, engine, note):
    rows = notes(120, note)
    frame = spark.createDataFrame(rows, SCHEMA).repartition(3)
    redacted, audit = lethe.spark.redact(
        frame, text="note", id="id", patient="mrn", bundle="en-fast", audit=True
    )
    assert redacted.schema == frame.schema
    found = sorted((row.id, row.column, row.label, row.start, row.end) for row in audit.collect())
    spans = [(row[0], engine.annotate(row[2])) for row in rows if row[2] is not None]
    assert found == sorted(
        (id, "note", span.label, span.start, span.end) for id, of_note in spans for span in of_note
    )
    assert "text" not in audit.columns


def test_policies_and_keys_come_from_files_that_spark_sends_to_its_executors(spark, tmp_path, key_file, note):
    policy = tmp_path / "pseudonyms.toml"
    policy.write_text(POLICY)
    keys = key_file("3")
    for file in (policy, keys):
        spark.sparkContext.addFile(str(file))
    rows = notes(60, note)
    frame = spark.createDataFrame(rows, SCHEMA)
    redacted = lethe.spark.redact(
        frame, text="note", patient="mrn", bundle="en-fast", policy=policy.name, keys=keys.name
    )
    engine = lethe.Engine("en-fast", policy=policy, keys=keys)
    assert {row.id: row.note for row in redacted.collect()} == expected(engine, rows)


def test_sql_can_call_it_on_a_note_and_on_a_note_with_its_patient(spark, engine, note):
    lethe.spark.register(spark, bundle="en-fast")
    rows = notes(60, note)
    spark.createDataFrame(rows, SCHEMA).createOrReplaceTempView("notes")
    for call in ("lethe_redact(note)", "lethe_redact(note, mrn)"):
        collected = spark.sql(f"SELECT id, {call} AS note FROM notes").collect()
        assert {row.id: row.note for row in collected} == expected(engine, rows)


def test_a_stream_has_the_rows_of_a_table(spark, engine, note, tmp_path):
    rows = notes(200, note)
    source, sink = tmp_path / "in", tmp_path / "out"
    spark.createDataFrame(rows, SCHEMA).repartition(4).write.parquet(str(source))
    stream = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(source))
    query = (
        lethe.spark.redact(stream, text="note", patient="mrn", bundle="en-fast")
        .writeStream.format("parquet")
        .option("path", str(sink))
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(LIMIT)
    collected = spark.read.parquet(str(sink)).collect()
    assert len(collected) == len(rows)
    assert {row.id: row.note for row in collected} == expected(engine, rows)


@pytest.mark.filterwarnings("default")
def test_the_guide_works_as_it_is_written(spark, key_file):
    schema = "note_id string, mrn string, name string, note string"
    rows = [(f"n{number}", "17", "Ada Quillfeather", "Quillfeather saw Dr. Okafor on 03/05/2021.") for number in range(20)]
    spark.createDataFrame(rows, schema).write.parquet("notes")
    pathlib.Path("research.toml").write_text(POLICY)
    key_file("keys").rename("keys.toml")
    follow("docs/spark.md", {"spark": spark})
    for folder in ("redacted", "by-sql", "by-stream"):
        frame = spark.read.parquet(folder)
        assert frame.count() == len(rows) and "name" not in frame.columns
        assert {"Okafor" in row.note for row in frame.collect()} == {False}
    assert {row.note for row in spark.read.parquet("redacted").collect()} == {"[PATIENT] saw Dr. [DOCTOR] on [DATE]."}


def test_a_note_that_cannot_be_redacted_fails_its_task_without_its_text(spark, tmp_path, note):
    policy = tmp_path / "refusing.toml"
    policy.write_text('mode = "custom"\npatient = { missing = "quarantine" }\n')
    frame = spark.createDataFrame([(1, None, note), (2, "p-2", note)], SCHEMA).coalesce(1)
    options = {"text": "note", "patient": "mrn", "bundle": "en-fast", "policy": policy}
    with pytest.raises(Exception, match="policy_refused") as raised:
        lethe.spark.redact(frame, **options).collect()
    assert "Okafor" not in str(raised.value) and "Quill" not in str(raised.value)
    rows = lethe.spark.redact(frame, errors="null", **options).collect()
    assert [row.note is None for row in sorted(rows)] == [True, False]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"text": []}, ValueError, "`text` names no column"),
        ({"text": "nota"}, ValueError, "no column is named `nota`; there are id, mrn, note"),
        ({"text": "id"}, TypeError, "column `id` has the type bigint"),
        ({"text": "note", "audit": True}, ValueError, "`audit` needs `id`"),
    ],
)
def test_mistakes_are_named_before_a_job_starts(spark, arguments, error, message):
    frame = spark.createDataFrame([(1, "p", "n")], SCHEMA)
    with pytest.raises(error, match=message):
        lethe.spark.redact(frame, **arguments)


def test_rows_are_the_same_when_a_worker_is_killed(spark, cluster, engine, note):
    rows = notes(4000, note)
    frame = spark.createDataFrame(rows, SCHEMA).repartition(40).cache()
    assert frame.count() == len(rows)
    redacted = lethe.spark.redact(frame, text="note", id="id", patient="mrn", bundle="en-fast")
    collected = []
    job = threading.Thread(target=lambda: collected.extend(redacted.collect()))
    job.start()
    done, total = wait_for_tasks(spark, at_least=4)
    cluster.kill_worker("worker-0")
    assert done < total, "the job had ended before the worker was killed"
    job.join(timeout=LIMIT)
    assert not job.is_alive()
    assert len(collected) == len(rows)
    assert {row.id: row.note for row in collected} == expected(engine, rows)


def wait_for_tasks(spark, at_least):
    """Wait until some tasks of the running stage have ended; return how many have, of how many."""
    status = spark.sparkContext.statusTracker()
    deadline = time.monotonic() + LIMIT
    while time.monotonic() < deadline:
        for stage in status.getActiveStageIds():
            info = status.getStageInfo(stage)
            if info is not None and info.numCompletedTasks >= at_least:
                return info.numCompletedTasks, info.numTasks
        time.sleep(0.01)
    raise TimeoutError(f"fewer than {at_least} tasks have ended after {LIMIT} s")
