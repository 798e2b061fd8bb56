# frozen_string_literal: true

require "erb"
require "yaml"
require_relative "capistrano_files"
require_relative "puma_file"

module Tiercel
  class Doctor
    # The application's processes, hosts and containers, as far as its files and this machine reveal them.
    class Deployment
      CONTAINER_MARKS = %w[/.dockerenv /run/.containerenv].freeze
      SHARED_MEMORY = "/dev/shm"
      # Variables that a platform sets in every container.
      PLATFORMS = { "KUBERNETES_SERVICE_HOST" => "Kubernetes", "DYNO" => "Heroku", "FLY_MACHINE_ID" => "Fly",
                    "RENDER_INSTANCE_ID" => "Render", "ECS_CONTAINER_METADATA_URI_V4" => "ECS",
                    "K_SERVICE" => "Cloud Run", "KAMAL_CONTAINER_NAME" => "Kamal" }.freeze
      private_constant :PLATFORMS

      # @return [Deployment] for the current Rails application
      def self.of_application = new(root: Rails.root.to_s)

      # @return [Deployment] as {of_application}; outside Rails without an application's files
      def self.at_hand = defined?(Rails.root) && Rails.root ? of_application : new

      # @param root [String, nil] the application's folder
      # @param env [#[]] environment variables
      # @param container [Boolean] whether this process runs in a container
      # @param shared_memory [String] the folder for shared-memory files
      # @param mounts [String] the mounted file systems, in the format of /proc/mounts
      def initialize(root: nil, env: ENV, container: self.class.container?(env), shared_memory: SHARED_MEMORY,
                     mounts: self.class.mounts)
        @root = root
        @mounts = mounts
        @env = env
        @container = container
        @shared_memory = shared_memory
      end

      # @return [String]
      def self.mounts
        ::File.readable?("/proc/mounts") ? ::File.read("/proc/mounts") : ""
      end

      # @return [Boolean]
      def self.container?(env = ENV)
        CONTAINER_MARKS.any? { |mark| ::File.exist?(mark) } || PLATFORMS.keys.any? { |name| env[name] }
      end

      # @return [Boolean]
      def container? = @container

      # @return [String] /proc/mounts, "" if it does not exist
      attr_reader :mounts

      # @return [String] the folder for shared-memory files
      attr_reader :shared_memory

      # @return [Integer, nil] number of Puma workers in cluster mode, 0 for single mode; nil if config/puma.rb is
      #   missing or unreadable
      def puma_workers
        return @puma_workers if defined?(@puma_workers)
        path = @root && ::File.join(@root, "config/puma.rb")
        @puma_workers = path && ::File.file?(path) ? PumaFile.new(path, @env).workers : nil
      end

      # @return [Array<String>] the hosts in Kamal's config/deploy.yml or in Capistrano's files
      def hosts = (hosts = roles.values.flatten.uniq).any? ? hosts : capistrano_hosts

      # @return [String] the file that names the hosts
      def hosts_file = roles.any? ? "config/deploy.yml" : "config/deploy/"

      # The platform of this container, if no file contains the number of containers.
      #
      # @return [String, nil] for example "Kubernetes"
      def platform
        return if hosts.any?
        PLATFORMS.find { |name, _| @env[name] }&.last
      end

      # Heroku numbers the dynos of a type, so a second dyno implies a first one.
      #
      # @return [String, nil] for example "web.2"; nil for a first dyno, and outside Heroku
      def later_dyno = @env["DYNO"].to_s[/\A(?!run\.|release\.|scheduler\.)\w+\.(?:[2-9]|\d{2,3})\z/]

      # @return [Hash{String => Array<String>}] hosts by role in Kamal's config/deploy.yml; empty without that file
      def roles
        @roles ||= begin
          servers = deploy_file&.fetch("servers", nil)
          servers = { "web" => servers } if servers.is_a?(Array)
          (servers || {}).transform_values { |role| hosts_of(role) }
        end
      end

      private

      def capistrano_hosts
        folder = @root && ::File.join(@root, "config/deploy")
        @capistrano_hosts ||= folder && ::File.directory?(folder) ? CapistranoFiles.new(folder).hosts(stage) : []
      end

      def stage = @env["RAILS_ENV"] || @env["RACK_ENV"] || "production"

      def deploy_file
        path = @root && ::File.join(@root, "config/deploy.yml")
        return unless path && ::File.file?(path)
        content = YAML.safe_load(ERB.new(::File.read(path)).result, aliases: true)
        content if content.is_a?(Hash)
      rescue StandardError, SyntaxError # of the file's ERB: it may need files that only Kamal has
        nil
      end

      # A role is a list of hosts, perhaps with tags, or a Hash that contains such a list.
      def hosts_of(role)
        hosts = role.is_a?(Hash) ? role["hosts"] : role
        Array(hosts).flat_map { |host| host.is_a?(Hash) ? host.keys : host }.map(&:to_s)
      end
    end
  end
end
