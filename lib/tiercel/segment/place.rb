# frozen_string_literal: true

require "digest"
require "tmpdir"
require_relative "../segment"
require_relative "memory_limits"

module Tiercel
  class Segment
    # Where the file of `shared:NAME` may be, and how large it may be unasked.
    #
    # The name is made of what stays the same over releases of one application
    # and differs between applications, environments, users and checkouts. It
    # has two places: shared memory, and the temporary directory for where that
    # is too small or cannot be written. {Opening} decides between them.
    class Place
      SHARED_MEMORY = "/dev/shm"
      DEFAULT_BYTES = 256 << 20
      LEAST_DEFAULT_BYTES = 8 << 20
      NAME_FORM = /\A[A-Za-z0-9][A-Za-z0-9._-]{0,99}\z/

      # @return [String] what follows "shared:"
      attr_reader :text
      # @return [Array<String>] where the segment's file may be, the better one first; one for a path
      attr_reader :paths

      # @return [String, nil] nil where there is none that can be written
      def self.temporary_directory
        Dir.tmpdir
      rescue ArgumentError
        nil
      end

      # @param text [String] what follows "shared:": a path, a name, or "" in a Rails application
      # @param shared_memory [String] the directory of files in memory
      # @param temporary [String, nil] the second one
      # @param behind [String, nil] of a near tier: what the tiers behind it are, which makes it another segment
      # @raise [ConfigurationError] if there is neither a name nor a Rails application, or the name is no file name
      def initialize(text, shared_memory: SHARED_MEMORY, temporary: self.class.temporary_directory, behind: nil)
        @text = text
        @behind = behind
        @paths = text.include?("/") ? [::File.expand_path(text)] : in_each([shared_memory, temporary], file_name(text))
      end

      # @return [Boolean] whether it was given by name
      def named? = !text.include?("/")

      # @return [String] of the segment's file as it lies now, or of where one would be made
      def path
        paths.find { |path| ::File.exist?(path) } ||
          paths.find { |path| ::File.writable?(::File.dirname(path)) } || paths.first
      end

      # @return [Integer] bytes that a segment would have whose size nobody gave, with enough room: the lesser of
      #   256 MB and an eighth of the cgroup's memory limit; at least 8 MB
      def wanted_bytes
        [[DEFAULT_BYTES, MemoryLimits.cgroup_bytes&.div(8)].compact.min, LEAST_DEFAULT_BYTES].max
      end

      # @param path [String] one of {#paths}
      # @return [Integer] {#wanted_bytes}, or half of what is free there; at least 8 MB
      # @raise [ConfigurationError] if the directory does not exist
      def default_bytes(path = self.path)
        [[wanted_bytes, Segment.free_bytes(::File.dirname(path)) / 2].min, LEAST_DEFAULT_BYTES].max
      rescue SystemCallError => error
        raise ConfigurationError, "shared:#{path}: #{error.message}; give a path in a directory that exists"
      end

      # Files of this segment's name with another layout version, perhaps of other releases that still run.
      #
      # @return [Array<String>] paths
      def other_layouts
        paths.flat_map do |path|
          base = path[/\A(.*\.v)\d+\z/, 1] or next []
          Dir.glob("#{escaped(base)}*").grep(/\.v\d+\z/) - [path]
        end
      end

      # Segments that have this name under another secret, in a Rails application, near ones among them. Of a near tier
      # the near ones, also those with the same secret that were in front of something else.
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

      # @param path [String]
      # @return [Boolean] whether it was named by this Rails application: environment, user and secret are the same
      def own?(path)
        ending = paths.first[/-[^-]+-\d+-\h{8}\.v/] if named? && in_rails?
        ending ? ::File.basename(path).match?(/#{Regexp.escape(ending)}\d+\z/) : false
      end

      # @return [Boolean] whether the name has a Rails application's environment and secret in it
      def in_rails? = !rails_application.nil?

      # @return [String]
      def to_s = "shared:#{text}"

      private

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
        "tiercel-#{parts.join("-")}.v#{LAYOUT_VERSION}"
      end

      def rails_application
        Rails.application if defined?(Rails) && Rails.respond_to?(:application)
      end

      def application_name(application)
        name = application.class.name.to_s.delete_suffix("::Application")
        name.gsub(/[^A-Za-z0-9]+/, "_").gsub(/([a-z\d])([A-Z])/, '\1_\2').downcase
      end

      # Tells checkouts of one application apart without telling the secret.
      def digest(application)
        secret = application.secret_key_base.to_s
        Digest::SHA256.hexdigest("tiercel segment #{secret}")[0, 8]
      rescue ArgumentError
        "unsigned"
      end
    end
  end
end
