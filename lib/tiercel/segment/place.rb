# frozen_string_literal: true

require "digest"
require "etc"
require_relative "../segment"

module Tiercel
  # Possible locations of the file of `shared:NAME`, and its default size.
  #
  # The file name is derived from properties that stay the same over an application's releases and differ between
  # applications, environments, users and checkouts. A segment has two possible locations: shared memory, and the
  # temporary directory if shared memory is too small or not writable. {Opening} chooses between them.
  class Segment::Place
    # nil if the segment uses only portable POSIX calls: such systems have no /dev/shm.
    SHARED_MEMORY = ("/dev/shm" unless Segment::PORTABLE)
    DEFAULT_BYTES = 256 << 20
    # The default size in development and test, because every configuration that a developer tries leaves a segment
    # behind.
    LOCAL_DEFAULT_BYTES = 32 << 20
    LOCAL_ENVIRONMENTS = %w[development test].freeze
    # By default the segments of one application use at most one eighth of the memory.
    MEMORY_SHARE = 8
    LEAST_DEFAULT_BYTES = 8 << 20
    UNSIGNED = "unsigned"
    NAME_FORM = /\A[A-Za-z0-9][A-Za-z0-9._-]{0,99}\z/

    # @return [String] the part of the URL after "shared:"
    attr_reader :text
    # @return [String, nil] the directory for shared memory files
    attr_reader :shared_memory
    # @return [Array<String>] possible paths of the file, the preferred one first; a single one if the URL has a
    #   path
    attr_reader :paths

    # Chooses as Dir.tmpdir does, whose library takes 14 ms to load. Others could replace files in a directory that
    # they can write and that has no sticky bit.
    #
    # @return [String, nil] nil if no temporary directory is writable
    def self.temporary_directory
      named = ENV.values_at("TMPDIR", "TMP", "TEMP").reject { |path| path.to_s.empty? }
      [*named, Etc.systmpdir, "/tmp", "."].filter_map { |path| absolute(path) }.find do |path|
        ::File.directory?(path) && ::File.writable?(path) && (!::File.world_writable?(path) || ::File.sticky?(path))
      end
    end

    def self.absolute(path)
      ::File.expand_path(path)
    rescue ArgumentError, SystemCallError # the "~name" of an unknown user; a removed working directory
      nil
    end
    private_class_method :absolute

    # @param text [String] the part of the URL after "shared:": a path, a name, or "" in a Rails application
    # @param shared_memory [String, nil] the directory for shared memory files
    # @param temporary [String, nil] the directory to use otherwise
    # @param behind [String, nil] for a near tier: identifies the farther tiers, because each combination has its
    #   own segment
    # @raise [ConfigurationError] if there is neither a name nor a Rails application, or the name is not a valid
    #   file name
    def initialize(text, shared_memory: SHARED_MEMORY, temporary: self.class.temporary_directory, behind: nil)
      @text = text
      @behind = behind
      @shared_memory = shared_memory
      @paths = text.include?("/") ? [::File.expand_path(text)] : in_each([shared_memory, temporary], file_name(text))
    end

    # @return [Boolean] whether the URL has a name, not a path
    def named? = !text.include?("/")

    # @return [String] the path of the existing file, or of the file to create
    def path
      paths.find { |path| ::File.exist?(path) } ||
        paths.find { |path| ::File.writable?(::File.dirname(path)) } || paths.first
    end

    # @return [Integer] the default size with enough space: 256 MB (32 MB in development and test). Together with
    #   the application's other segments at most one eighth of the memory, but at least 8 MB
    def wanted_bytes
      usual = local? ? LOCAL_DEFAULT_BYTES : DEFAULT_BYTES
      share = Segment::MemoryLimits.bytes&.div(MEMORY_SHARE)&.-(other_bytes)
      [[usual, share].compact.min, LEAST_DEFAULT_BYTES].max
    end

    # @param path [String] one of {#paths}
    # @return [Integer] {#wanted_bytes}, or half of the free space if that is less; at least 8 MB
    # @raise [ConfigurationError] if the directory does not exist
    def default_bytes(path = self.path)
      [[wanted_bytes, Segment.free_bytes(::File.dirname(path)) / 2].min, LEAST_DEFAULT_BYTES].max
    rescue SystemCallError => error
      raise ConfigurationError, "shared:#{path}: #{error.message}; give a path in a directory that exists"
    end

    # Segments of this name with another layout version. Other releases that are still running may use them.
    #
    # @return [Array<String>] paths
    def other_layouts
      paths.flat_map do |path|
        base = path[/\A(.*\.v)\d+\z/, 1] or next []
        Dir.glob("#{escaped(base)}*").grep(/\.v\d+\z/) - [path]
      end
    end

    # Segments of this name from other secrets, including near ones, in a Rails application. For a near tier: the
    # near segments, including those with the same secret in front of other tiers.
    #
    # @return [Array<String>] paths
    def siblings
      paths.flat_map do |path|
        base = path[/\A(.*-)\h{8}\.v\d+\z/, 1] if named? && in_rails?
        next [] unless base
        near = escaped(base).sub(/(-near-\h{8})?(-[^-]+-\d+-)\z/, "-near-????????\\2")
        all = [escaped(base), near].flat_map { |form| Dir.glob("#{form}????????.v*") }.grep(/-\h{8}\.v\d+\z/)
        all.uniq.reject { |other| other == path || (own?(other) && !(@behind && other.include?("-near-"))) }
      end
    end

    # All segments of this application: other names, near tiers and other secrets. In development also those of
    # test, and vice versa.
    #
    # @return [Array<String>] paths
    def of_application
      return [] unless in_rails?
      application = rails_application
      forms = (local? ? LOCAL_ENVIRONMENTS : [Rails.env]).flat_map do |environment|
        forms_of(application_name(application), digest(application), "#{environment}-#{Process.euid}")
      end
      found = paths.product(forms).flat_map { |path, form| Dir.glob("#{escaped(::File.dirname(path))}/#{form}") }
      found.grep(/-\h{8}\.v\d+\z/).uniq
    end

    # @param path [String]
    # @return [Boolean] whether this Rails application derived it: same environment, user and secret
    def own?(path)
      ending = paths.first[/-[^-]+-\d+-\h{8}\.v/] if named? && in_rails?
      ending ? ::File.basename(path).match?(/#{Regexp.escape(ending)}\d+\z/) : false
    end

    # @return [Boolean] whether the name contains a Rails application's environment and secret
    def in_rails? = !rails_application.nil?

    # @return [String]
    def to_s = "shared:#{text}"

    private

    def local? = in_rails? && LOCAL_ENVIRONMENTS.include?(Rails.env.to_s)

    # The size of this application's other segments.
    def other_bytes
      return 0 unless named? && in_rails?
      directories = paths.map { |path| ::File.dirname(path) }
      others = directories.flat_map { |directory| Dir.glob("#{escaped(directory)}/tiercel-*.v*") } - paths
      others.select { |path| own?(path) && ::File.owned?(path) }.sum { |path| ::File.size?(path) || 0 }
    end

    # Without a secret, segments of different applications cannot be distinguished.
    def forms_of(name, digest, owner)
      named = ["", "-near-????????"].map { |near| "tiercel-#{name}#{near}-#{owner}-????????.v*" }
      digest == UNSIGNED ? named : ["tiercel-*-#{owner}-#{digest}.v*", *named]
    end

    def escaped(path) = path.gsub(/[\\*?\[\]{}]/) { |char| "\\#{char}" }

    def in_each(directories, name) = directories.compact.uniq.map { |directory| ::File.join(directory, name) }

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
