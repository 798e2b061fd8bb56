# frozen_string_literal: true

require_relative "../../clock"
require_relative "../../errors"
require_relative "cache_file"
require_relative "connection"
require_relative "members"
require_relative "queue"

module Tiercel
  module Backends
    class SQLite < Backend
      # The only access to the file. One connection per process under one lock: the gem holds the GVL while SQLite
      # works, so a second connection would not run concurrently. The connection is opened on first use, is never used
      # after a fork, and is replaced if the path leads to another file. SQLite's errors become {BackendError}s.
      #
      # SQLite's own wait for a lock would block every thread of the process. So a call on a busy file fails at once
      # and is retried outside the lock, until the time budget ends. Only one writer at a time retries (see {Queue}).
      class Access
        # Number of calls between two checks of the path.
        CHECK_INTERVAL = 64
        SHORTEST_PAUSE_SECONDS = 0.00005
        LONGEST_PAUSE_SECONDS = 0.00025

        REFUSALS = [
          SQLite3::FullException, SQLite3::ReadOnlyException, SQLite3::PermissionException,
          SQLite3::AuthorizationException, SQLite3::TooBigException, SQLite3::ConstraintException,
          Errno::EACCES, Errno::EPERM, Errno::EROFS, Errno::ENOSPC, Connection::TooNew,
        ].freeze
        BUSY = [SQLite3::BusyException, SQLite3::LockedException].freeze
        DAMAGE = [*CacheFile::DAMAGE, Connection::Damaged].freeze
        FAILURES = [
          SQLite3::Exception, SystemCallError, Connection::Damaged, Connection::TooNew, CacheFile::Foreign,
          CacheFile::Closed, CacheFile::Missing, FileLock::Busy,
        ].freeze
        # Raised when other threads have waited long enough for the lock.
        class NotFirst < StandardError; end
        NOT_NOW = [*BUSY, CacheFile::Missing, NotFirst].freeze
        # Maximum number of attempts to create the file in one call, in case other processes remove it.
        ATTEMPTS = 3

        # @param file [CacheFile]
        # @param settings [Settings]
        # @param name [String] the backend's name, for messages
        def initialize(file, settings, name)
          @members = Members.new
          @file = file
          @settings = settings
          @name = name
          @queue = Queue.new(file.lock, settings.timeout_seconds)
          @lock = Mutex.new
          @calls = 0
          Forks.track_lock(@lock)
        end

        # @return [String] the path of the file
        def path = @file.path

        # @return [Members]
        attr_reader :members

        # Runs the block with the connection, under the lock.
        #
        # @param key [String, nil] the key, for messages
        # @yieldparam connection [Connection]
        # @return [Object] the block's value
        # @raise [BackendError]
        def read(key = nil, &)
          @lock.synchronize { yield connection }
        rescue *NOT_NOW => error
          answered(key) { asked_again(error) { |give_up_at| use_when_free(give_up_at, &) } }
        rescue *FAILURES => error
          answered(key) { raise error }
        end

        # As {#read}, but reopens first if the path leads to another file.
        def read_in_place(&)
          @lock.synchronize { @calls = -1 }
          read(&)
        end

        # As {#read}, for blocks that change rows.
        def write(key = nil)
          raise NotFirst if @queue.due?
          @lock.synchronize { yield writable }
        rescue *NOT_NOW => error
          answered(key) do
            asked_again(error) { @queue.pass { |give_up_at| use_when_free(give_up_at) { yield writable } } }
          end
        rescue *FAILURES => error
          answered(key) { raise error }
        end

        # Runs the block if the file exists and is free; otherwise does nothing. For work that can wait.
        def try
          @lock.synchronize { yield connection }
        rescue *NOT_NOW
          nil
        end

        # Replaces a file that fills its disk by an empty one, if not even evicting finds space in the log.
        #
        # @return [Boolean] false if other programs fill the disk
        def begin_anew
          inode = @lock.synchronize { inode_to_give_up.tap { drop } }
          return false unless inode
          @file.remove_cache { CacheFile.inode(@file.path) == inode }
          true
        rescue CacheFile::Foreign, CacheFile::Closed, FileLock::Busy, SystemCallError
          false
        end

        # @return [void]
        def close
          @lock.synchronize { drop }
          @file.lock.close
        end

        private

        # Returns the inode of a file that fills its disk, or that another process has replaced for that reason.
        def inode_to_give_up
          @connection.inode if @connection && (@connection.fills_disk? || !@connection.in_place?)
        end

        # Turns errors into {BackendError}s.
        def answered(key)
          yield
        rescue *DAMAGE => error
          set_aside(error, key)
        rescue *FAILURES => error
          raise translated(error, key)
        end

        # Retries after creating a missing file.
        def asked_again(error)
          attempts = 0
          begin
            @file.create { |path| Connection.make(path, @settings) } if error.is_a?(CacheFile::Missing)
            yield Clock.monotonic + @settings.timeout_seconds
          rescue CacheFile::Missing => error
            raise if (attempts += 1) > ATTEMPTS
            retry
          end
        end

        def writable
          connection.tap do |current|
            current.before_writing
            @members.renew(current, Clock.now)
          end
        end

        # Retries outside the lock, with growing pauses.
        def use_when_free(give_up_at)
          pause_seconds = SHORTEST_PAUSE_SECONDS
          begin
            @lock.synchronize { yield connection }
          rescue *BUSY
            raise FileLock::Busy if Clock.monotonic >= give_up_at
            sleep(pause_seconds * (0.5 + rand))
            pause_seconds = [pause_seconds * 1.5, LONGEST_PAUSE_SECONDS].min
            retry
          end
        end

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

        # An inherited connection is only dropped: closing its statements could affect the parent's locks.
        def drop
          @connection.close if @connection&.own?
          @connection = nil
        end

        # Acquires the file's lock without this object's lock, because other callers acquire them in that order.
        def set_aside(error, key)
          damaged = @lock.synchronize { @connection&.inode.tap { drop } }
          moved_to = @file.set_aside { damaged ? damaged == CacheFile.inode(@file.path) : unusable? }
          fate = moved_to ? "set aside as #{moved_to}; a new one takes its place" : "replaced; it is opened again"
          raise Refused.new("the file is damaged (#{error.message}) and was #{fate}", backend: @name, key: key)
        rescue SystemCallError => failure
          raise Unavailable.new("the file is damaged (#{error.message}) and cannot be set aside: #{failure.message}",
                                backend: @name, key: key)
        rescue CacheFile::Foreign, CacheFile::Closed, FileLock::Busy => failure
          raise translated(failure, key)
        end

        # Checks again, now that no other process is replacing the file.
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
          when CacheFile::Foreign, CacheFile::Closed then Refused.new(error.message, backend: @name, key: key)
          when *REFUSALS then Refused.new(message, backend: @name, key: key)
          else Unavailable.new(message, backend: @name, key: key)
          end
        end
      end
    end
  end
end
