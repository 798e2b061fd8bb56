# frozen_string_literal: true

module Tiercel
  module Backends
    class SQLite < Backend
      # The tables of the file and their SQL statements. docs/sqlite.md describes the tables.
      #
      # `id` is 63 bits of the key's MD5 digest. It is the key of a single B-tree, whose rows are in random order, so
      # any run of neighbours is a fair sample for eviction. The full key is stored and compared. If two keys have the
      # same id, the later write evicts the other entry.
      module Schema
        # Distinguishes a cache from other databases, in the file's header ("TCL1").
        APPLICATION_ID = 0x54434C31
        # Incremented whenever the tables change; `user_version` of the file.
        VERSION = 1

        # Ids have 63 bits including the sign, so they are immediate Integers in Ruby.
        IDS = (-(2**62)...2**62)
        # The starting point of a walk through all ids.
        BEFORE_IDS = IDS.first - 1

        TABLES = [
          "CREATE TABLE entries (id INTEGER PRIMARY KEY, expires_at REAL, used_at INTEGER NOT NULL, " \
          "hits INTEGER NOT NULL, version INTEGER NOT NULL, key BLOB NOT NULL, value BLOB NOT NULL)",
          "CREATE TABLE totals (name TEXT PRIMARY KEY, value INTEGER NOT NULL)",
          "INSERT INTO totals VALUES ('entries', 0)",
        ].freeze

        # Names of the tables above.
        TABLE_NAMES = %w[entries totals].freeze

        # An exact count writes one more page per insert, so it exists only if `max_entries` needs it.
        COUNTING = [
          "CREATE TRIGGER entries_inserted AFTER INSERT ON entries " \
          "BEGIN UPDATE totals SET value = value + 1 WHERE name = 'entries'; END",
          "CREATE TRIGGER entries_deleted AFTER DELETE ON entries " \
          "BEGIN UPDATE totals SET value = value - 1 WHERE name = 'entries'; END",
          "UPDATE totals SET value = (SELECT count(*) FROM entries) WHERE name = 'entries'",
        ].freeze

        # Estimated bytes of a row in addition to its key and value.
        ROW_OVERHEAD_BYTES = 40

        # Added to the stored number of hits. Every number from 0 to 3 then needs one byte, so a recorded hit never
        # changes the row's length, and never moves the pages of a large row.
        HITS_BASE = 2
        KEPT_HITS = "max(hits - #{HITS_BASE}, 0)"

        INSERT = "INSERT INTO entries (id, key, value, expires_at, version, used_at, hits) " \
                 "VALUES (?1, ?2, ?3, ?4, ?5, ?6, #{HITS_BASE}) ON CONFLICT (id) DO UPDATE SET key = excluded.key, " \
                 "value = excluded.value, expires_at = excluded.expires_at, version = excluded.version, " \
                 "used_at = excluded.used_at"
        PRESENT = "id = ?1 AND key = ?2 AND (expires_at IS NULL OR expires_at > ?3)"

        # The prepared statements by their names.
        STATEMENTS = {
          find: "SELECT value, key, expires_at FROM entries WHERE id = ?1",
          find_whole: "SELECT value, key, expires_at, #{KEPT_HITS}, used_at, version FROM entries WHERE id = ?1",
          set: INSERT,
          add: "#{INSERT} WHERE entries.expires_at <= ?7 OR entries.key <> excluded.key",
          compare_and_set: "UPDATE entries SET value = ?4, expires_at = ?5, version = ?6, used_at = ?7 " \
                           "WHERE #{PRESENT} AND version = ?8",
          delete: "DELETE FROM entries WHERE #{PRESENT}",
          touch: "UPDATE entries SET expires_at = ?4 WHERE #{PRESENT}",
          keys: "SELECT id, key, expires_at FROM entries WHERE id > ?1 ORDER BY id LIMIT ?2",
          sample: "SELECT id, expires_at, used_at, #{KEPT_HITS}, length(value) + length(key) FROM entries " \
                  "WHERE id > ?1 ORDER BY id LIMIT ?2",
          look_ahead: "SELECT max(id), count(*), sum(expires_at <= ?3) FROM " \
                      "(SELECT id, expires_at FROM entries WHERE id > ?1 ORDER BY id LIMIT ?2)",
          remove: "DELETE FROM entries WHERE id = ?1",
          remove_ended: "DELETE FROM entries WHERE id = ?1 AND expires_at <= ?2",
          remove_range: "DELETE FROM entries WHERE id > ?1 AND id <= ?2",
          note_use: "UPDATE entries SET hits = min(hits + ?2, ?3 + #{HITS_BASE}), used_at = ?4 " \
                    "WHERE id = ?1 AND (hits < ?3 + #{HITS_BASE} OR used_at < ?5)",
          put_member: "INSERT INTO totals (name, value) VALUES (?1, ?2) " \
                      "ON CONFLICT (name) DO UPDATE SET value = excluded.value",
          forget_members: "DELETE FROM totals WHERE name GLOB 'member:*' AND value < ?1",
          other_members: "SELECT count(*) FROM totals WHERE name GLOB 'member:*' AND name <> ?1 AND value > ?2",
          counted: "SELECT value FROM totals WHERE name = 'entries'",
          count: "SELECT count(*) FROM entries",
          page_count: "PRAGMA page_count",
          free_pages: "PRAGMA freelist_count",
          begin: "BEGIN",
          begin_immediate: "BEGIN IMMEDIATE",
          commit: "COMMIT",
        }.freeze

        # Columns of `find_whole`; `find` has only the first three.
        VALUE, KEY, EXPIRES_AT, HITS, USED_AT, TOKEN = *0..5
      end
    end
  end
end
