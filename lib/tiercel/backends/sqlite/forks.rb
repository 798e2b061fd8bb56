# frozen_string_literal: true

require "sqlite3"

# Fork handler for connections. SQLite forbids a child to use or close its parent's connection: POSIX locks belong to
# the process, but the child would inherit SQLite's record of them (sqlite.org/howtocorrupt.html, section 2.6).
#
# - Before a fork it acquires the lock of every backend, so that no statement is in progress in the child's copy.
# - In the child it discards every inherited connection at once, before a new one can be opened on the same file.
#
# A child that Ruby's hook does not see (Process.daemon) is detected by its process id on the first call.
module Tiercel::Backends::SQLite::Forks
  @locks = ObjectSpace::WeakMap.new
  @databases = ObjectSpace::WeakMap.new

  # A connection that knows the process that opened it.
  class Database < SQLite3::Database
    def initialize(...)
      @process = Tiercel::Forks.current
      super
      Tiercel::Backends::SQLite::Forks.track_database(self)
    end

    def inherited? = !Tiercel::Forks.current?(@process)

    # The gem's hook warns about writable connections and closes them; ours runs later and handles them.
    def readonly? = inherited? || super
  end

  class << self
    def track_lock(lock) = @locks[lock] = true
    def track_database(database) = @databases[database] = true

    def around_fork
      locks = @locks.keys.reject(&:owned?)
      locks.each { |lock| take(lock) }
      pid = yield
      discard_inherited if pid.zero?
      pid
    ensure
      locks&.each { |lock| lock.unlock if lock.owned? }
    end

    # The gem's close does not touch the file if another process opened it.
    def discard_inherited
      @databases.each_key { |database| database.close if database.inherited? && !database.closed? }
    end

    private

    def take(lock)
      lock.lock
    rescue ThreadError
      nil # a signal handler that forks cannot lock a Mutex
    end
  end

  Tiercel::Forks.register(self)
end
