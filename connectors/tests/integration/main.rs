//! Tests of sources, stores and chains against real servers, in one binary to link only once.

mod buckets;
mod chain_audit;
mod chain_buckets;
mod chain_common;
mod chain_crash;
mod chain_erase;
mod chain_files;
mod chain_inspect;
mod chain_ledger;
mod chain_model;
mod chain_replay;
mod chain_tamper;
mod chain_topic;
mod chain_upgrade;
mod files_sources;
mod kafka_login;
mod kafka_settings_brokers;
mod kafka_settings_local;
mod registry;
mod store_buckets;
mod store_local;
mod store_proxy;
mod tables;
mod tables_database;
