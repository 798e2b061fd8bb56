# frozen_string_literal: true

require "digest"
require_relative "../segment"

module Tiercel
  # The file of `shared:NAME` or `shared:/path`: its path, its size, and how to open it.
  #
  # The name of the file is derived from properties that stay the same over an application's releases and differ
  # between applications, environments, users and checkouts. The directory is shared memory, or the temporary directory
  # of a system that has none. The free space does not decide about the directory: processes that start at different
  # times would find different files.
  class Segment::Place
    # nil if the segment uses only portable POSIX calls: such systems have no /dev/shm.
    SHARED_MEMORY = ("/dev/shm" unless Segment::PORTABLE)
    DEFAULT_BYTES = 256 << 20
    # The default size in development and test, because every configuration that a developer tries leaves a segment
    # behind.
    LOCAL_DEFAULT_BYTES = 32 << 20
    LOCAL_ENVIRONMENTS = %w[development test].freeze
    # By default a segment uses at most one eighth of the memory.
    MEMORY_SHARE = 8
    LEAST_DEFAULT_BYTES = 8 << 20
    UNSIGNED = "unsigned"
    NAME_FORM = /\A[A-Za-z0-9][A-Za-z0-9._-]{0,99}\z/
    # Temporary errors that prevent the creation of a segment; the configuration is valid.
    NOT_NOW = [
      Errno::ENOSPC, Errno::EDQUOT, Errno::ENOMEM, Errno::EFBIG, Errno::EROFS, Errno::EPERM, Errno::ENOSYS,
      Errno::EMFILE, Errno::ENFILE, Errno::EAGAIN, Errno::EIO,
    ].freeze
    # Further temporary errors if the user gave no path.
    NOT_HERE = [*NOT_NOW, Errno::EACCES, Errno::ENOENT, Errno::ENOTDIR, Errno::ENOTSUP, Errno::ELOOP].freeze
    MORE_SHARED_MEMORY = "/dev/shm more space (Docker: --shm-size=1g; Compose: shm_size: 1g; Kubernetes: an " \
                         "emptyDir with medium: Memory), or "
    MORE_ROOM = "give #{MORE_SHARED_MEMORY unless Segment::PORTABLE}a smaller `size:`, or a path with space " \
                "(\"shared:/path\")"
    private_constant :MORE_SHARED_MEMORY

    # @return [String] the part of the URL after "shared:"
    attr_reader :text
    # @return [String] the path of the file
    attr_reader :path

    # @return [String] the directory of segments without a path
    def self.directory
      return SHARED_MEMORY if SHARED_MEMORY && ::File.writable?(SHARED_MEMORY)
      require "tmpdir" # takes 14 ms
      Dir.tmpdir
    end

    # @param text [String] the part of the URL after "shared:": a path, a name, or "" in a Rails application
    # @param directory [String] where a named segment is
    # @param behind [String, nil] for a near tier: identifies the last tier, because each has its own near segment
    # @raise [ConfigurationError] if there is neither a name nor a Rails application, or the name is not a valid
    #   file name
    def initialize(text, directory: self.class.directory, behind: nil)
      @text = text
      @behind = behind
      @path = named? ? ::File.join(directory, file_name(text)) : ::File.expand_path(text)
    end

    # @return [Boolean] whether the URL has a name, not a path
    def named? = !text.include?("/")

    # Attaches to the existing segment, which keeps its size, or creates it.
    #
    # @param asked_bytes [Integer, nil] the size of a new segment; nil for the default. A segment that does not fit
    #   gets the default size, and the log says so
    # @param memo_bytes [Integer, nil] bytes of values that this process keeps; nil for its share of the machine's
    #   budget
    # @return [Segment]
    # @raise [Unavailable] if no segment can be created now; the message contains the requested size, the free space
    #   and a remedy
    # @raise [ConfigurationError] if no segment can ever be created
    def open(asked_bytes = nil, memo_bytes: 0)
      segment = existing(asked_bytes) || create(asked_bytes)
      segment.memo_bytes = memo_bytes
      segment
    rescue ConfigurationError => error
      temporary = named? ? NOT_HERE : NOT_NOW
      raise unless [error.cause, error.cause&.cause].any? { |cause| temporary.include?(cause.class) }
      raise unavailable(asked_bytes, error.message)
    end

    # @return [Integer] the default size with enough space: 256 MB (32 MB in development and test), at most one eighth
    #   of the memory, but at least 8 MB
    def wanted_bytes
      usual = local? ? LOCAL_DEFAULT_BYTES : DEFAULT_BYTES
      [[usual, Segment::MemoryLimits.bytes&.div(MEMORY_SHARE)].compact.min, LEAST_DEFAULT_BYTES].max
    end

    # @return [Integer] {#wanted_bytes}, or half of the free space if that is less; at least 8 MB
    # @raise [ConfigurationError] if the directory does not exist
    def default_bytes
      [[wanted_bytes, Segment.free_bytes(::File.dirname(path)) / 2].min, LEAST_DEFAULT_BYTES].max
    rescue SystemCallError => error
      raise ConfigurationError, "shared:#{path}: #{error.message}; give a path in a directory that exists"
    end

    # @param path [String]
    # @return [Boolean] whether the segment belongs to this Rails application: in any environment and with any secret,
    #   or under another name
    def of_application?(path)
      name = ::File.basename(path)
      return true if name.start_with?("tiercel-#{application_name(rails_application)}-")
      own = @path[/-[^-]+-\d+-\h{8}\.v/] # environment, user and secret
      own ? name.match?(/#{Regexp.escape(own)}\d+\z/) : false
    end

    # @return [String]
    def to_s = "shared:#{text}"

    private

    # --- open ---

    # Ignores a segment that is damaged, older than the last boot or owned by another user.
    def existing(asked)
      segment = Segment.join(path) if ::File.exist?(path)
      report_other_size(segment, asked) if segment && asked
      segment
    rescue Unavailable
      nil
    end

    def report_other_size(segment, asked)
      return if (segment.size_bytes - asked).abs <= asked / 100
      Reports.notice("#{path} has #{Sizes.human(segment.size_bytes)}, not the #{Sizes.human(asked)} of `size`: " \
                     "a segment keeps the size that it was created with. To resize it, which empties it: " \
                     "#{resize_command(asked)}")
    end

    def resize_command(bytes)
      return "bin/rails \"tiercel:segments:resize[#{path},#{bytes}]\"" if rails_application
      "bundle exec ruby -rtiercel/segment -e 'Tiercel::Segment.replace(#{path.inspect}, bytes: #{bytes})'"
    end

    def create(asked)
      reason = asked && too_large(asked)
      bytes = asked && reason.nil? ? asked : default_bytes
      no_room = too_large(bytes)
      raise ConfigurationError, no_room, cause: Errno::ENOSPC.new if no_room
      segment = Segment.open(path, bytes:, least_bytes: bytes == asked ? 0 : LEAST_DEFAULT_BYTES)
      if reason
        Reports.notice("#{self}: #{reason}, so the `size` of #{Sizes.human(asked)} does not fit. The segment " \
                       "has #{Sizes.human(segment.size_bytes)}: #{MORE_ROOM}")
      end
      segment
    end

    # A failing allocation would briefly use up the free space of all programs. If a file in memory is larger than the
    # process's limit, the system kills the process while it creates the file, and again after each restart. The file
    # system decides whether the file is in memory, and not the path: a container may have a host's /dev/shm/shop at
    # /cache.
    #
    # @return [String, nil] the reason why a new segment of this size does not fit
    def too_large(bytes)
      return if ::File.exist?(path)
      directory = ::File.dirname(path)
      free = free_bytes
      return "#{directory} has #{Sizes.human(free)} free" if free && free < bytes
      memory = Segment::MemoryLimits.bytes if Segment.in_memory?(directory)
      "this process may use at most #{Sizes.human(memory)} of memory" if memory && memory <= bytes
    end

    def unavailable(asked, cause)
      free = free_bytes&.then { |bytes| Sizes.human(bytes) } || "an unknown number of bytes"
      Unavailable.new("#{self} cannot be created: requested #{Sizes.human(asked || wanted_bytes)}, free #{free} in " \
                      "#{::File.dirname(path)} (#{cause}): #{MORE_ROOM}")
    end

    def free_bytes
      Segment.free_bytes(::File.dirname(path))
    rescue SystemCallError
      nil
    end

    # --- names ---

    def local? = rails_application && LOCAL_ENVIRONMENTS.include?(Rails.env.to_s)

    def file_name(name)
      application = rails_application
      unless name.empty? || name.match?(NAME_FORM)
        raise ConfigurationError, "shared:#{name}: expected a name of letters, digits, \".\", \"_\" and \"-\", " \
                                  "or a path with a \"/\""
      end
      if name.empty? && !application
        raise ConfigurationError, "shared: needs a name outside a Rails application, such as \"shared:my_app\""
      end
      parts = [name.empty? ? application_name(application) : name]
      parts << "near" << Digest::SHA256.hexdigest(@behind)[0, 8] if @behind
      parts << Rails.env << Process.euid << digest(application) if application
      parts << Process.euid unless application
      "tiercel-#{parts.join("-")}.v#{Segment::LAYOUT_VERSION}"
    end

    def rails_application
      Rails.application if defined?(Rails) && Rails.respond_to?(:application)
    end

    def application_name(application)
      name = application.class.name.to_s.delete_suffix("::Application")
      name.gsub(/[^A-Za-z0-9]+/, "_").gsub(/([a-z\d])([A-Z])/, '\1_\2').downcase
    end

    # Distinguishes checkouts of one application without revealing the secret.
    def digest(application)
      secret = application.secret_key_base.to_s
      Digest::SHA256.hexdigest("tiercel segment #{secret}")[0, 8]
    rescue ArgumentError
      UNSIGNED
    end
  end
end
