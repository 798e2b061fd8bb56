# frozen_string_literal: true

require "digest"
require "tmpdir"
require_relative "../segment"
require_relative "memory_limits"

module Tiercel
  class Segment
    # Where the file of `shared:NAME` is, and how large it may be unasked.
    #
    # The name is made of what stays the same over releases of one application
    # and differs between applications, environments, users and checkouts.
    class Place
      SHARED_MEMORY = "/dev/shm"
      DEFAULT_BYTES = 256 << 20
      LEAST_DEFAULT_BYTES = 8 << 20
      NAME_FORM = /\A[A-Za-z0-9][A-Za-z0-9._-]{0,99}\z/

      # @return [String] of the segment's file
      attr_reader :path

      # @param text [String] what follows "shared:": a path, a name, or "" in a Rails application
      # @param shared_memory [String] the directory of files in memory
      # @raise [ConfigurationError] if there is neither a name nor a Rails application, or the name is no file name
      def initialize(text, shared_memory: SHARED_MEMORY)
        @shared_memory = shared_memory
        @path = text.include?("/") ? ::File.expand_path(text) : ::File.join(directory, file_name(text))
      end

      # @return [Integer] bytes of a segment whose size nobody gave: the least of 256 MB, half of what is
      #   free beside it, and an eighth of the cgroup's memory limit; at least 8 MB
      def default_bytes
        limits = [DEFAULT_BYTES, Segment.free_bytes(::File.dirname(path)) / 2, MemoryLimits.cgroup_bytes&.div(8)]
        [limits.compact.min, LEAST_DEFAULT_BYTES].max
      rescue SystemCallError => error
        raise ConfigurationError, "shared:#{path}: #{error.message}; give a path in a directory that exists"
      end

      # Files of this segment's name with another layout version, perhaps of other releases that still run.
      #
      # @return [Array<String>] paths
      def other_layouts
        base = path[/\A(.*\.v)\d+\z/, 1]
        return [] unless base
        Dir.glob("#{base.gsub(/[\\*?\[\]{}]/) { |char| "\\#{char}" }}*").grep(/\.v\d+\z/) - [path]
      end

      private

      # Memory where there is any worth mentioning, else the temporary directory.
      def directory
        usable = ::File.directory?(@shared_memory) && ::File.writable?(@shared_memory)
        usable && Segment.free_bytes(@shared_memory) >= LEAST_DEFAULT_BYTES * 2 ? @shared_memory : Dir.tmpdir
      rescue SystemCallError
        Dir.tmpdir
      end

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
