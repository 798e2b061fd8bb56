# frozen_string_literal: true

module Tiercel
  class Segment
    # Opens the segment of a {Place}: attaches to an existing one, or decides once for all processes where to create
    # it.
    #
    # That decision needs a lock: an empty file in shared memory, which can be created even if no byte is free. A
    # process never attaches to another user's file. If both places have a file, the one in shared memory wins.
    class Opening
      # Temporary errors that prevent the creation of a segment; the configuration is valid.
      NOT_NOW = [
        Errno::ENOSPC, Errno::EDQUOT, Errno::ENOMEM, Errno::EFBIG, Errno::EROFS, Errno::EPERM, Errno::ENOSYS,
        Errno::EMFILE, Errno::ENFILE, Errno::EAGAIN, Errno::EIO,
      ].freeze
      # Further temporary errors if the user gave no path.
      NOT_HERE = [*NOT_NOW, Errno::EACCES, Errno::ENOENT, Errno::ENOTDIR, Errno::ENOTSUP, Errno::ELOOP].freeze
      LOCK_SECONDS = 10.0
      MORE_SHARED_MEMORY = "/dev/shm more space (Docker: --shm-size=1g; Compose: shm_size: 1g; Kubernetes: an " \
                           "emptyDir with medium: Memory), or "
      MORE_ROOM = "give #{MORE_SHARED_MEMORY unless PORTABLE}a smaller `size:`, or a path with space (\"shared:/path\")"
      private_constant :MORE_SHARED_MEMORY

      # @return [Place]
      attr_reader :place

      # @param place [Place]
      # @param bytes [Integer, nil] the size of a new segment; nil for the default, or less if space is short
      # @param memo_bytes [Integer, nil] bytes of values that this process keeps; nil for its share of the machine's
      #   budget
      # @param options [Hash] `mode:` of {Segment.open}
      def initialize(place, bytes: nil, memo_bytes: 0, **options)
        @place = place
        @bytes = bytes
        @memo_bytes = memo_bytes
        @options = options
      end

      # @param lock_seconds [Float] maximum wait for other processes that decide
      # @return [Segment]
      # @raise [Unavailable] if no segment can be created now; the message contains the requested size, the free space
      #   and a remedy
      # @raise [ConfigurationError] if no segment can ever be created
      def call(lock_seconds: LOCK_SECONDS)
        segment = @place.named? ? joined || alone(lock_seconds) { joined || made } : at_path
        segment.memo_bytes = @memo_bytes
        segment
      end

      private

      def at_path
        make(@place.paths.first)
      rescue ConfigurationError => error
        raise unless among?(NOT_NOW, error)
        raise unavailable([error])
      end

      def joined
        @place.paths.each_with_index do |path, index|
          segment = existing(path) or next
          say_second(path, "the segment already exists there") if index.positive?
          return segment
        end
        nil
      end

      # Ignores a segment that is damaged, older than the last boot or owned by another user.
      def existing(path)
        Segment.join(path) if ::File.exist?(path)
      rescue Unavailable
        nil
      end

      # Creates the segment in the best place with enough space.
      def made
        failures = []
        @place.paths.each_with_index do |path, index|
          leave_half(path) if index.zero? && @place.paths.size > 1
          segment = make(path)
          say_second(path, failures.map(&:message).join("; ")) if index.positive?
          return segment
        rescue ConfigurationError => error
          raise unless among?(NOT_HERE, error) || others?(path)
          failures << error
        end
        raise unavailable(failures)
      end

      def make(path)
        check_room(path) if @bytes && !::File.exist?(path)
        Segment.open(path, bytes: @bytes || @place.default_bytes(path),
                           least_bytes: @bytes ? 0 : Place::LEAST_DEFAULT_BYTES, **@options)
      end

      # Checked first, because a failing allocation would briefly use up the free space of all programs.
      def check_room(path)
        no_room(path) if free_bytes(path)&.<(@bytes)
        # Asks the file system, not the path: a container may have a host's /dev/shm/shop at /cache.
        no_memory(path) if Segment.in_memory?(::File.dirname(path)) && MemoryLimits.bytes&.<=(@bytes)
      end

      # A segment with the default size uses at most half of the free shared memory.
      def leave_half(path)
        no_room(path) if @bytes.nil? && free_bytes(path)&.<(Place::LEAST_DEFAULT_BYTES * 2)
      end

      def no_room(path)
        raise ConfigurationError, "#{::File.dirname(path)} has #{free(path)} free", cause: Errno::ENOSPC.new
      end

      # Without this check the system would kill the process while it creates the file, and again after each restart.
      def no_memory(path)
        raise ConfigurationError, "#{path} would be in memory, and this process may use at most " \
                                  "#{Sizes.human(MemoryLimits.bytes)}", cause: Errno::ENOMEM.new
      end

      # @return [Boolean] whether another user owns the file or its lock
      def others?(path) = [path, "#{path}.lock"].any? { |file| Ownership.objection(file) }

      # The lock is in the best usable place, so that all processes that see the same places use the same lock.
      def alone(seconds, &)
        failures = @place.paths.map do |path|
          return hold("#{path}.place", seconds, &)
        rescue SystemCallError => error
          error
        end
        strangers = @place.paths.map { |path| "#{path}.place" }.select { |path| Ownership.objection(path) }
        strangers.any? ? without_lock(strangers, &) : raise(unavailable(failures))
      end

      # Each file is still created completely and only once. Processes that start simultaneously may choose different
      # places; they check again and all find the file in the better place.
      def without_lock(strangers)
        Notice.warn("#{strangers.join(" and ")} belong to another user, who can remove them. Until then the location " \
                    "of #{@place} is chosen without a lock")
        yield.close
        joined || yield
      end

      def hold(path, seconds)
        raise Errno::EACCES, path if Ownership.objection(path)
        raise Errno::ENOENT, ::File.dirname(path) unless ::File.directory?(::File.dirname(path))
        FileLock.new(path, seconds).hold { yield }
      rescue FileLock::Busy
        raise Unavailable, "#{@place}: another process has been creating it for #{seconds.round(2)} s " \
                           "(#{path} is locked)"
      end

      def among?(classes, error) = [error.cause, error.cause&.cause].any? { |cause| classes.include?(cause.class) }

      def unavailable(failures)
        sizes = @place.paths.map { |path| "#{free(path)} in #{::File.dirname(path)}" }.join(" and ")
        causes = failures.map(&:message).uniq.join("; ")
        Unavailable.new("#{@place} cannot be created: requested #{Sizes.human(@bytes || @place.wanted_bytes)}, free " \
                        "#{sizes} (#{causes}): #{MORE_ROOM}")
      end

      def free(path) = free_bytes(path)&.then { |bytes| Sizes.human(bytes) } || "an unknown number of bytes"

      def free_bytes(path)
        Segment.free_bytes(::File.dirname(path))
      rescue SystemCallError
        nil
      end

      def say_second(path, why)
        Notice.warn("#{@place} is in #{path}, perhaps on a disk, and not in " \
                    "#{::File.dirname(@place.paths.first)} (#{why}). Processes that see other directories use " \
                    "another cache. To change this: #{MORE_ROOM}")
      end
    end
  end
end
