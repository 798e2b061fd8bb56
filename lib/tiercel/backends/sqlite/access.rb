# frozen_string_literal: true

require_relative "../../clock"
require_relative "../../errors"
require_relative "cache_file"
require_relative "connection"

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
          Errno::EACCES, Errno::EPERM, Errno::EROFS, Errno::ENOSPC, Connection::TooNew,
        ].freeze
        BUSY = [SQLite3::BusyException, SQLite3::LockedException].freeze
        DAMAGE = [*CacheFile::DAMAGE, Connection::Damaged].freeze
        FAILURES = [
          SQLite3::Exception, SystemCallError, Connection::TooNew, CacheFile::Foreign, CacheFile::Missing,
          FileLock::Busy,
        ].freeze
        # How often the file is made for one call, where others remove it.
        ATTEMPTS = 3

        # @param file [CacheFile]
        # @param settings [Settings]
        # @param name [String] of the backend, for messages
        def initialize(file, settings, name)
          @file = file
          @settings = settings
          @name = name
          @lock = Mutex.new
          @calls = 0
          Forks.track_lock(@lock)
        end

        # @return [String] of the file
        def path = @file.path

        # Runs the block with the connection, alone.
        #
        # @param key [String, nil] for messages
        # @yieldparam connection [Connection]
        # @return [Object] the block's value
        # @raise [BackendError]
        def read(key = nil)
          waiting = attempts = nil
          begin
            @lock.synchronize { yield connection }
          rescue *BUSY
            (waiting ||= Waiting.new(@settings.timeout_seconds)).pause
            retry
          rescue CacheFile::Missing
            raise if (attempts = attempts.to_i + 1) > ATTEMPTS
            make_file
            retry
          end
        rescue *DAMAGE => error
          set_aside(error, key)
        rescue *FAILURES => error
          raise translated(error, key)
        end

        # As {#read}, for blocks that change rows.
        def write(key = nil)
          read(key) do |connection|
            connection.before_writing
            yield connection
          end
        end

        # Runs the block if the file is there and free now, gives it up otherwise: for work that can wait.
        def try
          @lock.synchronize { yield connection }
        rescue *BUSY, CacheFile::Missing
          nil
        end

        # @return [void]
        def close
          @lock.synchronize { drop }
          @file.lock.close
        end

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
          @file.verify
          @connection = Connection.new(@file.path, @settings).tap { @file.mark }
        end

        def make_file = @file.create { |path| Connection.make(path, @settings) }

        # A parent's connection is only let go: closing its statements could touch the parent's locks.
        def drop
          @connection.close if @connection&.own?
          @connection = nil
        end

        # Whoever holds both locks took that of the file first.
        def set_aside(error, key)
          damaged = @lock.synchronize { @connection&.inode.tap { drop } }
          moved_to = @file.set_aside { damaged ? damaged == CacheFile.inode(@file.path) : unusable? }
          fate = moved_to ? "set aside as #{moved_to}; a new one takes its place" : "replaced; it is opened again"
          raise Refused.new("the file is damaged (#{error.message}) and was #{fate}", backend: @name, key: key)
        rescue SystemCallError => failure
          raise Unavailable.new("the file is damaged (#{error.message}) and cannot be set aside: #{failure.message}",
                                backend: @name, key: key)
        rescue CacheFile::Foreign, FileLock::Busy => failure
          raise translated(failure, key)
        end

        # Whether the file still cannot be opened, now that no other process is replacing it.
        def unusable?
          Connection.new(@file.path, @settings).close
          false
        rescue *DAMAGE
          true
        rescue SQLite3::Exception
          false
        end

        def translated(error, key)
          message = "#{error.class}: #{error.message}"
          case error
          when FileLock::Busy
            message = "locked for more than #{(@settings.timeout_seconds * 1000).round} ms"
            TimedOut.new(message, backend: @name, key: key)
          when CacheFile::Foreign then Refused.new(error.message, backend: @name, key: key)
          when *REFUSALS then Refused.new(message, backend: @name, key: key)
          else Unavailable.new(message, backend: @name, key: key)
          end
        end

        # Growing pauses until a budget ends.
        class Waiting
          # @param budget_seconds [Float]
          def initialize(budget_seconds)
            @until = Clock.monotonic + budget_seconds
            @pause_seconds = SHORTEST_PAUSE_SECONDS
          end

          # @raise [FileLock::Busy] once the budget is spent
          def pause
            raise FileLock::Busy if Clock.monotonic >= @until
            sleep(@pause_seconds * (0.5 + rand))
            @pause_seconds = [@pause_seconds * 1.5, LONGEST_PAUSE_SECONDS].min
          end
        end
        private_constant :Waiting
      end
    end
  end
end
