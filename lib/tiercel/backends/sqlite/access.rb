# frozen_string_literal: true

require "fileutils"

require_relative "../../clock"
require_relative "../../errors"
require_relative "connection"
require_relative "replacement"

module Tiercel
  module Backends
    class SQLite < Backend
      # The one way to the file: one connection per process under one lock (the
      # gem holds the interpreter's lock while SQLite works, so a second
      # connection would not run beside it), opened on first use, never carried
      # over a fork, replaced when the path leads to another file; SQLite's
      # errors become {BackendError}s.
      #
      # SQLite's own waiting for a lock would hold up every thread of the
      # process, so a busy file is given up at once and asked again outside of
      # the lock until the budget ends.
      class Access
        # Calls between two looks at the path.
        CHECK_INTERVAL = 64
        SHORTEST_PAUSE_SECONDS = 0.0001
        LONGEST_PAUSE_SECONDS = 0.004

        REFUSALS = [
          SQLite3::FullException, SQLite3::ReadOnlyException, SQLite3::PermissionException,
          SQLite3::AuthorizationException, SQLite3::TooBigException, SQLite3::ConstraintException,
        ].freeze
        BUSY = [SQLite3::BusyException, SQLite3::LockedException].freeze
        DAMAGE = [SQLite3::CorruptException, SQLite3::NotADatabaseException, SQLite3::FormatException,
                  Connection::Foreign].freeze

        # @param path [String]
        # @param settings [Settings]
        # @param name [String] of the backend, for messages
        def initialize(path, settings, name)
          @path = path
          @settings = settings
          @name = name
          @lock = Mutex.new
          @calls = 0
          Forks.track_lock(@lock)
        end

        # Runs the block with the connection, alone.
        #
        # @param key [String, nil] for messages
        # @yieldparam connection [Connection]
        # @return [Object] the block's value
        # @raise [BackendError]
        def use(key = nil)
          waiting = nil
          begin
            @lock.synchronize { yield connection }
          rescue *BUSY => error
            (waiting ||= Waiting.new(@settings.timeout_seconds)).pause(error) { timed_out(key) }
            retry
          end
        rescue *DAMAGE => error
          set_aside(error, key)
        rescue SQLite3::Exception, SystemCallError, Connection::TooNew => error
          raise translated(error, key)
        end

        # Runs the block if the file is free now, gives it up otherwise: for work that can wait.
        def try
          @lock.synchronize { yield connection }
        rescue *BUSY
          nil
        end

        # @return [void]
        def close = @lock.synchronize { drop }

        private

        def connection
          current = @connection
          return open unless current
          return renew unless current.own?
          return current if (@calls += 1) % CHECK_INTERVAL != 0 || current.in_place?
          renew
        end

        def renew
          drop
          open
        end

        def open
          Forks.discard_inherited
          FileUtils.mkdir_p(::File.dirname(@path))
          @connection = Connection.new(@path, @settings)
        end

        # A parent's connection is only let go: closing its statements could touch the parent's locks.
        def drop
          @connection.close if @connection&.own?
          @connection = nil
        end

        def set_aside(error, key)
          moved_to = @lock.synchronize do
            damaged = @connection&.inode
            drop
            Replacement.new(@path).call { damaged ? damaged == Connection.inode(@path) : unusable? }
          end
          fate = moved_to ? "set aside as #{moved_to}; a new one takes its place" : "replaced; it is opened again"
          raise Refused.new("the file is damaged or not a cache (#{error.message}) and was #{fate}",
                            backend: @name, key: key)
        rescue SystemCallError => failure
          raise Unavailable.new("the file is damaged or not a cache (#{error.message}) and cannot be set aside: " \
                                "#{failure.message}", backend: @name, key: key)
        end

        # Whether the file still cannot be opened, now that no other process is replacing it.
        def unusable?
          Connection.new(@path, @settings).close
          false
        rescue *DAMAGE
          true
        rescue SQLite3::Exception
          false
        end

        def translated(error, key)
          message = "#{error.class}: #{error.message}"
          case error
          when *REFUSALS, Errno::EACCES, Errno::EPERM, Errno::EROFS, Errno::ENOSPC, Connection::TooNew
            Refused.new(message, backend: @name, key: key)
          else
            Unavailable.new(message, backend: @name, key: key)
          end
        end

        def timed_out(key)
          TimedOut.new("locked for more than #{(@settings.timeout_seconds * 1000).round} ms", backend: @name, key: key)
        end

        # Growing pauses until a budget ends.
        class Waiting
          def initialize(budget_seconds)
            @until = Clock.monotonic + budget_seconds
            @pause_seconds = SHORTEST_PAUSE_SECONDS
          end

          # @raise what the block returns, once the budget is spent
          def pause(_error)
            raise yield if Clock.monotonic >= @until
            sleep(@pause_seconds * (0.5 + rand))
            @pause_seconds = [@pause_seconds * 1.5, LONGEST_PAUSE_SECONDS].min
          end
        end
        private_constant :Waiting
      end
    end
  end
end
