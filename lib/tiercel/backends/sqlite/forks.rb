# frozen_string_literal: true

require "sqlite3"
require_relative "../../forks"

module Tiercel
  module Backends
    class SQLite < Backend
      # Fork handler for connections. SQLite forbids a child to use or close its parent's connection: POSIX locks
      # belong to the process, but the child would inherit SQLite's record of them (sqlite.org/howtocorrupt.html,
      # section 2.6).
      #
      # - Before a fork it acquires the lock of every backend, so that no statement is in progress in the child's
      #   copy.
      # - In the child it discards every inherited connection at once, before a new one can be opened on the same
      #   file.
      #
      # A child that Ruby's hook does not see (Process.daemon) is detected by its process id on the first call.
      module Forks
        @locks = ObjectSpace::WeakMap.new
        @databases = ObjectSpace::WeakMap.new

        class << self
          # @param lock [Mutex] the lock of a backend
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

          # Drops every connection of another process. The gem's close does so without touching the file if another
          # process opened it.
          def discard_inherited
            @databases.each_key { |database| database.close if database.inherited? && !database.closed? }
          end

          private

          # A signal handler that forks cannot lock a Mutex.
          def take(lock)
            lock.lock
          rescue ThreadError
            nil
          end
        end

        # A connection that knows the process that opened it.
        class Database < SQLite3::Database
          def initialize(...)
            @process = ::Tiercel::Forks.current
            super
            Forks.track_database(self)
          end

          # @return [Boolean]
          def inherited? = !::Tiercel::Forks.current?(@process)

          # The gem's hook warns about writable connections and closes them; ours runs later and handles them.
          def readonly? = inherited? || super
        end

        ::Tiercel::Forks.register(self)
      end
    end
  end
end
