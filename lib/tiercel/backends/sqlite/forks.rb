# frozen_string_literal: true

require "sqlite3"
require_relative "../../forks"

module Tiercel
  module Backends
    class SQLite < Backend
      # Handler of forks: what happens to connections around one. SQLite forbids using or
      # closing a parent's connection in a child: locks of POSIX belong to the
      # process, and SQLite's own notes about them would be inherited as if they
      # held (sqlite.org/howtocorrupt.html, section 2.6).
      #
      # - Before a fork the lock of every backend is taken, so that no statement
      #   is half-way in the child's copy.
      # - In the child every inherited connection is discarded at once, before
      #   one of them could be opened anew on the same file.
      #
      # A child that Ruby does not know of (Process.daemon) is noticed by its
      # process id on the first call.
      module Forks
        @locks = ObjectSpace::WeakMap.new
        @databases = ObjectSpace::WeakMap.new

        class << self
          # @param lock [Mutex] of a backend
          def track_lock(lock) = @locks[lock] = true

          # @param database [Database]
          def track_database(database) = @databases[database] = true

          # @yieldreturn [Integer] the process id, 0 in the child
          def around_fork
            locks = @locks.keys.reject(&:owned?)
            locks.each { |lock| take(lock) }
            pid = yield
            discard_inherited if pid.zero?
            pid
          ensure
            locks&.each { |lock| lock.unlock if lock.owned? }
          end

          # Drops every connection that belongs to another process. The gem's close does so without
          # touching the file when the process is not the one that opened it.
          def discard_inherited
            @databases.each_key { |database| database.close if database.inherited? && !database.closed? }
          end

          private

          # Where an application forks in a signal handler: there no Mutex can be had.
          def take(lock)
            lock.lock
          rescue ThreadError
            nil
          end
        end

        # A connection that knows whose it is.
        class Database < SQLite3::Database
          def initialize(...)
            @process = ::Tiercel::Forks.current
            super
            Forks.track_database(self)
          end

          # @return [Boolean]
          def inherited? = !::Tiercel::Forks.current?(@process)

          # The gem's hook warns of, and closes, what is not read-only; ours follows and takes care.
          def readonly? = inherited? || super
        end

        ::Tiercel::Forks.register(self)
      end
    end
  end
end
