# frozen_string_literal: true

require_relative "../../clock"

module Tiercel
  class Tiers < Backend
    class Journal
      # A file beside a segment, with the segment's permissions. One thread of one process changes the file at a time.
      # Another process may remove the file together with the segment.
      #
      # @private
      class LockedFile
        # Seconds that a writer waits for the lock at most, and between two attempts.
        PATIENCE_SECONDS = 0.1
        PAUSE_SECONDS = 0.0005
        # Attempts to open a file that other processes remove concurrently.
        ATTEMPTS = 3
        # Another process holds the lock for too long.
        class Busy < StandardError; end
        # The file belongs to another user.
        class Foreign < StandardError; end
        UNUSABLE = [SystemCallError, Foreign].freeze
        # Errors of a process that cannot open an existing file at present.
        EXHAUSTED = [Errno::EMFILE, Errno::ENFILE, Errno::ENOMEM].freeze

        # @param path [String]
        # @param segment_path [String]
        def initialize(path, segment_path)
          @path = path
          @segment_path = segment_path
        end

        # @return [Boolean] whether there is anything in it
        def filled? = !::File.size?(@path).nil?

        # @yieldparam file [File] without its lock
        # @raise [SystemCallError, Foreign]
        def open(create: false)
          ::File.open(@path, flags(create), create ? mode : 0) do |file|
            check(file)
            yield file
          end
        end

        # @yieldparam file [File] with its lock
        # @raise [SystemCallError, Foreign, Busy]
        def locked(create: false)
          ATTEMPTS.times do
            open(create:) do |file| # `open` checks the file first: the owner of a foreign file may keep it locked
              lock(file)
              return yield(file) if current?(file)
            end
          end
          raise Busy
        end

        private

        def flags(create)
          ::File::RDWR | ::File::NOFOLLOW | ::File::NONBLOCK | ::File::BINARY | (create ? ::File::CREAT : 0)
        end

        def mode = ::File.stat(@segment_path).mode & 0o666

        def lock(file)
          give_up_at = Clock.monotonic + PATIENCE_SECONDS
          until file.flock(::File::LOCK_EX | ::File::LOCK_NB)
            raise Busy if Clock.monotonic >= give_up_at
            sleep(PAUSE_SECONDS)
          end
        end

        # Another user may create the file in a directory that all users may write.
        def check(file)
          stat = file.stat
          owners = [Process.euid, ::File.stat(@segment_path).uid]
          raise Foreign unless stat.file? && owners.include?(stat.uid) && stat.nlink <= 1
          file.chmod(mode) if stat.size.zero? && stat.owned? && stat.mode & 0o666 != mode
        end

        def current?(file)
          there = ::File.lstat(@path)
          stat = file.stat
          there.ino == stat.ino && there.dev == stat.dev
        rescue Errno::ENOENT
          false
        end
      end
    end
  end
end
