# frozen_string_literal: true

require "prism"
require "yaml"

class Tiercel::Insight::Doctor
  # The application's processes, hosts and containers, as far as its files and this machine reveal them.
  class Deployment
    CONTAINER_MARKS = %w[/.dockerenv /run/.containerenv].freeze
    SHARED_MEMORY = "/dev/shm"
    # Variables that a platform sets in every container.
    PLATFORMS = { "KUBERNETES_SERVICE_HOST" => "Kubernetes", "DYNO" => "Heroku", "FLY_MACHINE_ID" => "Fly",
                  "RENDER_INSTANCE_ID" => "Render", "ECS_CONTAINER_METADATA_URI_V4" => "ECS",
                  "K_SERVICE" => "Cloud Run", "KAMAL_CONTAINER_NAME" => "Kamal" }.freeze
    # Stands for the output of ERB.
    UNKNOWN = "unknown-by-erb"

    # @return [Deployment] for the current Rails application
    def self.of_application = new(root: Rails.root.to_s)

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
    def self.mounts = ::File.readable?("/proc/mounts") ? ::File.read("/proc/mounts") : ""

    # @return [Boolean]
    def self.container?(env = ENV)
      CONTAINER_MARKS.any? { |mark| ::File.exist?(mark) } || PLATFORMS.keys.any? { |name| env[name] }
    end

    # @return [Boolean]
    def container? = @container

    # The text of /proc/mounts ("" if it does not exist), and the folder for shared-memory files.
    attr_reader :mounts, :shared_memory

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
    def platform = (PLATFORMS.find { |name, _| @env[name] }&.last if hosts.empty?)

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
      path = @root && ::File.join(@root, "config/deploy/#{stage}.rb")
      @capistrano_hosts ||= path && ::File.file?(path) ? CapistranoFile.new(path).hosts : []
    end

    def stage = @env["RAILS_ENV"] || @env["RACK_ENV"] || "production"

    # Kamal's files run commands in their ERB, for secrets. This method never runs the ERB: it reads the file as text,
    # and marks the output of the ERB as unknown.
    def deploy_file
      path = @root && ::File.join(@root, "config/deploy.yml")
      return unless path && ::File.file?(path)
      text = ::File.read(path).gsub(/^\s*<%(?!=).*?-?%>\s*$/m, "").gsub(/<%.*?%>/m, UNKNOWN)
      content = YAML.safe_load(text, aliases: true)
      content if content.is_a?(Hash)
    rescue StandardError
      nil
    end

    # A role is a list of hosts, perhaps with tags, or a Hash that contains such a list.
    def hosts_of(role)
      hosts = role.is_a?(Hash) ? role["hosts"] : role
      Array(hosts).flat_map { |host| host.is_a?(Hash) ? host.keys : host }.map(&:to_s).grep_v(/#{UNKNOWN}/o)
    end
  end

  # A Ruby file that is read without running it.
  class RubyFile
    # @param path [String]
    # @param env [#[]] environment variables
    def initialize(path, env = ENV)
      @path = path
      @env = env
    end

    private

    # The calls of these methods without a receiver.
    def calls(names, node = Prism.parse_file(@path).value)
      found = node.compact_child_nodes.flat_map { |child| calls(names, child) }
      node.is_a?(Prism::CallNode) && names.include?(node.name) && node.receiver.nil? ? [node, *found] : found
    end
  end

  # Capistrano's file of a stage, with `server "web1"` and `role :app, %w[web1 web2]`.
  class CapistranoFile < RubyFile
    # @return [Array<String>] hosts without users and ports; empty if the file computes them
    def hosts
      # For a server, options follow the host; for a role, the name precedes the hosts.
      named = calls(%i[server role]).map { |call| call.arguments&.arguments.to_a[call.name == :server ? 0 : 1] }
      hosts = named.flat_map { |node| node.is_a?(Prism::ArrayNode) ? node.elements : [node] }.grep(Prism::StringNode)
      hosts.map { |host| host.unescaped.sub(/\A.*@/, "").sub(/:\d+\z/, "") }.uniq
    end
  end

  # config/puma.rb.
  class PumaFile < RubyFile
    # Puma uses WEB_CONCURRENCY if the file has no `workers`.
    #
    # @return [Integer, nil] 0 for single mode; nil if the file computes the number
    def workers
      call = calls(%i[workers]).last or return number_of(@env["WEB_CONCURRENCY"] || "0")
      value_of(call.arguments&.arguments&.first)
    end

    private

    # A number, or ENV["NAME"], ENV.fetch("NAME", 2), ENV.fetch("NAME") { 2 }, each perhaps in Integer() or to_i.
    def value_of(node)
      case node
      when Prism::IntegerNode then node.value
      when Prism::StringNode then number_of(node.unescaped)
      when Prism::SymbolNode then many(node.unescaped)
      when Prism::CallNode then value_of_call(node)
      when Prism::OrNode then value_of(node.left) || value_of(node.right)
      end
    end

    def value_of_call(node)
      first, second = node.arguments&.arguments
      return value_of(first) if node.name == :Integer
      return value_of(node.receiver) if node.name == :to_i
      return unless node.receiver.is_a?(Prism::ConstantReadNode) && node.receiver.name == :ENV
      set = first.is_a?(Prism::StringNode) ? @env[first.unescaped] : nil
      return number_of(set) if set
      value_of(second || (node.block.body&.body&.first if node.block.is_a?(Prism::BlockNode)))
    end

    def number_of(text) = many(text) || Integer(text, exception: false)

    # Puma's "auto" means one worker per processor; any number above one means the same here.
    def many(text) = (2 if text == "auto")
  end
end
