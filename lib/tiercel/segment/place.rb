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
      # nil where the segment uses POSIX alone, which has no such directory.
      SHARED_MEMORY = ("/dev/shm" unless Segment::PORTABLE)
      DEFAULT_BYTES = 256 << 20
      # In development and test, where every configuration that somebody tries leaves a segment behind.
      LOCAL_DEFAULT_BYTES = 32 << 20
      LOCAL_ENVIRONMENTS = %w[development test].freeze
      # The part of the memory that the segments of an application take unasked.
      MEMORY_SHARE = 8
      LEAST_DEFAULT_BYTES = 8 << 20
      UNSIGNED = "unsigned"
      NAME_FORM = /\A[A-Za-z0-9][A-Za-z0-9._-]{0,99}\z/

      # @return [String] what follows "shared:"
      attr_reader :text
      # @return [String, nil] the directory of files in memory
      attr_reader :shared_memory
      # @return [Array<String>] where the segment's file may be, the better one first; one for a path
      attr_reader :paths

      # @return [String, nil] nil where there is none that can be written
      def self.temporary_directory
        Dir.tmpdir
      rescue ArgumentError
        nil
      end

      # @param text [String] what follows "shared:": a path, a name, or "" in a Rails application
      # @param shared_memory [String, nil] the directory of files in memory
      # @param temporary [String, nil] the second one
      # @param behind [String, nil] of a near tier: what the tiers behind it are, which makes it another segment
      # @raise [ConfigurationError] if there is neither a name nor a Rails application, or the name is no file name
      def initialize(text, shared_memory: SHARED_MEMORY, temporary: self.class.temporary_directory, behind: nil)
        @text = text
        @behind = behind
        @shared_memory = shared_memory
        @paths = text.include?("/") ? [::File.expand_path(text)] : in_each([shared_memory, temporary], file_name(text))
      end

      # @return [Boolean] whether it was given by name
      def named? = !text.include?("/")

      # @return [String] of the segment's file as it lies now, or of where one would be made
      def path
        paths.find { |path| ::File.exist?(path) } ||
          paths.find { |path| ::File.writable?(::File.dirname(path)) } || paths.first
      end

      # @return [Integer] bytes that a segment has whose size nobody gave, with enough room: 256 MB (in development and
      #   test 32 MB), but with the other segments of this application no more than an eighth of the memory; at least
      #   8 MB
      def wanted_bytes
        usual = local? ? LOCAL_DEFAULT_BYTES : DEFAULT_BYTES
        share = MemoryLimits.bytes&.div(MEMORY_SHARE)&.-(other_bytes)
        [[usual, share].compact.min, LEAST_DEFAULT_BYTES].max
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

      # Every segment of this application: of other names too, of near tiers, under other secrets; in development those
      # of test too, and the other way round.
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

      def local? = in_rails? && LOCAL_ENVIRONMENTS.include?(Rails.env.to_s)

      # Of this application's segments beside the one here.
      def other_bytes
        return 0 unless named? && in_rails?
        directories = paths.map { |path| ::File.dirname(path) }
        others = directories.flat_map { |directory| Dir.glob("#{escaped(directory)}/tiercel-*.v*") } - paths
        others.select { |path| own?(path) && ::File.owned?(path) }.sum { |path| ::File.size?(path) || 0 }
      end

      # Without a secret nothing tells an application from the others.
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
        UNSIGNED
      end
    end
  end
end
