# frozen_string_literal: true

require "rails/generators/base"
require "tiercel"
require "tiercel/doctor/deployment"
require_relative "dummy_boot"
require_relative "marked_text"
require_relative "production_plan"
require_relative "test_helper_file"

module Tiercel
  # Rails finds this generator as `tiercel:install`.
  module Generators
    # `bin/rails generate tiercel:install` replaces production's current cache store by Tiercel.
    #
    # It boots the application with the new configuration ({DummyBoot}) and writes nothing if that fails. Two comments
    # enclose each change to the application's files, together with the previous lines ({MarkedText}). So a second run
    # changes nothing, and `bin/rails destroy tiercel:install` restores the files.
    class InstallGenerator < Rails::Generators::Base
      source_root File.expand_path("templates", __dir__)

      desc "Replaces the cache store in config/environments/production.rb by Tiercel; sets up " \
           "development and tests; adds useful optional gems; writes notes for Compose, Kamal and Kubernetes " \
           "(config/tiercel.md). Writes nothing if production would not boot with the change. " \
           "`bin/rails destroy tiercel:install` reverts it."

      class_option :url, type: :string, desc: "The backend's URL, such as redis://cache:6379/0, or several in " \
                                              "quotes, nearest first: 'shared: redis://cache:6379/0' (by default " \
                                              "the counterpart of the current store)"
      class_option :size, type: :string, desc: "Size of the cache, such as 1GB (shared:, memory:, sqlite:, file:)"
      class_option :development, type: :boolean, default: true,
                                 desc: "Use memory: instead of :memory_store in development, so that tags: work"
      class_option :test, type: :boolean, default: true, desc: "Use memory: in tests, cleared before each test"
      class_option :gems, type: :boolean, default: true, desc: "Add useful optional gems to the Gemfile"
      class_option :notes, type: :boolean, default: true, desc: "Write config/tiercel.md"

      PRODUCTION = "config/environments/production.rb"
      DEVELOPMENT = "config/environments/development.rb"
      TEST = "config/environments/test.rb"
      HELPER = "test/test_helper.rb"
      GEMS = "Gemfile"
      IGNORING = %w[.dockerignore .gitignore].freeze
      # Files that the generator changes unless the option is off.
      OPTIONAL = { development: [DEVELOPMENT], test: [TEST, HELPER], gems: [GEMS] }.freeze
      # Backends whose size is a store option; servers have their own configuration.
      SIZED = %w[shared memory sqlite file].freeze
      THREADS = "  Tests run in parallel threads, which share one cache: a clear would disturb other tests. Their " \
                "store stays unchanged."
      PAGE = %(  To check it: bin/rails tiercel:doctor; in config/routes.rb: mount Tiercel::Web => "/cache")
      INSTALLED = "  Tiercel is already installed. To change it: bin/rails destroy tiercel:install, then generate."
      HOSTS = "config/deploy.yml has %d hosts, and each gets a separate cache. For a common cache: bin/rails " \
              "destroy tiercel:install, then generate with --url=redis://HOST:6379/0."
      BOOT = "The generator boots config/environments/production.rb with SECRET_KEY_BASE_DUMMY=1, as an asset build " \
             "does. If your own code requires a variable, type: NAME=value bin/rails generate tiercel:install"
      private_constant :BOOT, :SIZED, :THREADS, :INSTALLED, :HOSTS, :PAGE

      # A refused installation exits with a failure status.
      #
      # @return [Boolean]
      def self.exit_on_failure? = true

      # Checks every file that may change first, so that no installation stops halfway.
      #
      # @return [void]
      # @raise [Thor::Error] if a file cannot be changed
      def check_files
        optional = OPTIONAL.select { |option, _| options[option] || behavior == :revoke }
        files = [PRODUCTION, *optional.values.flatten, *IGNORING].select { |path| File.file?(in_root(path)) }
        locked = files.reject { |path| File.writable?(in_root(path)) }
        refuse("No right to write #{locked.join(", ")}.") if locked.any?
        other = files.reject { |path| read(in_root(path)).valid_encoding? }
        refuse("Not in #{Encoding.default_external}: #{other.join(", ")}. Convert the text first.") if other.any?
      end

      # @return [void]
      # @raise [Thor::Error] if there is no file for production, or production would not boot with the new configuration
      def check_production
        return if behavior == :revoke || installed?
        refuse("There is no #{PRODUCTION} in #{destination_root}.") unless File.file?(in_root(PRODUCTION))
        check_size
        return unless plan.changed?
        answer = boot.check(PRODUCTION, plan.text, plan.statements)
        reason = answer["error"] || (answer["missing"] unless added?(answer["missing"]))
        return unless reason
        refuse("Production does not boot with the new cache store: #{reason}", BOOT,
               *plan.statements.map { |statement| "The new statement: #{statement}" })
      end

      # @return [void]
      def mount_in_production = change(PRODUCTION) { plan.text }

      # @return [void]
      def set_up_development
        return unless options[:development] || behavior == :revoke
        change(DEVELOPMENT) { |text| with_memory(text, %i[memory_store]) }
      end

      # @return [void]
      def set_up_tests
        return unless options[:test] || behavior == :revoke
        return say(THREADS, :yellow) if behavior == :invoke && !installed? && test_helper.threads?
        change(TEST) { |text| with_memory(text, [nil, :null_store, :memory_store]) }
        change(HELPER) { |_text| test_helper.with_clear } if behavior == :revoke || marked?(TEST)
      end

      # @return [void]
      def add_gems
        return unless options[:gems] || behavior == :revoke
        change(GEMS) do |text|
          missing = plan.gems.reject { |name, _| text.match?(/^\s*gem[ (]\s*["']#{name}["']/) }
          @added_gems = missing.keys
          missing.empty? ? text : text.sub(/\n*\z/, "\n\n") + MarkedText.block(missing.values.join("\n"))
        end
      end

      # Excludes a cache in the application's folder from images and version control.
      #
      # @return [void]
      def keep_out_of_images
        IGNORING.each do |file|
          change(file) { |text| plan.paths.inject(text) { |changed, path| ignoring(changed, path) } }
        end
      end

      # @return [void]
      def write_notes
        template "tiercel.md.tt", "config/tiercel.md" if options[:notes] && !installed?
      end

      # @return [void]
      def say_what_is_left
        return if behavior == :revoke
        return say(INSTALLED, :yellow) if installed?
        if options[:test] && marked?(TEST) && !marked?(HELPER)
          say "  Call this before each test: Rails.cache.clear", :yellow
        end
        [*plan.notes, hosts_note].compact.each { |note| say "  #{note}", :yellow }
        say "  Run `bundle install`." if @added_gems&.any?
        say PAGE
      end

      private

      def plan
        application = read(in_root("config/application.rb"))
        @plan ||= ProductionPlan.new(read(in_root(PRODUCTION)), application:, url: options[:url],
                                                                size: options[:size]) { solid_cache }
      end

      # @return [Boolean] whether an earlier run mounted Tiercel
      def installed?
        return @installed if defined?(@installed)
        @installed = behavior == :invoke && marked?(PRODUCTION)
      end

      def boot = DummyBoot.new(destination_root)

      def solid_cache
        return @solid_cache if defined?(@solid_cache)
        facts = boot.solid_cache
        error = facts["error"]
        if error && !options[:url]
          refuse("Production does not boot, so the settings of Solid Cache are unknown: #{error}", BOOT)
        end
        @solid_cache = (SolidCacheSettings.new(facts) unless error)
      end

      # @return [Boolean] whether this run adds the gem named in the message to the Gemfile
      def added?(message)
        return false unless options[:gems] && File.file?(in_root(GEMS))
        plan.gems.each_key.any? { |name| message&.include?("needs the gem #{name} ") }
      end

      def hosts_note
        hosts = Doctor::Deployment.new(root: destination_root).hosts.size
        format(HOSTS, hosts) if hosts > 1 && (plan.shared? || plan.paths.any?)
      end

      def check_size
        other = options[:size] && plan.successors.find { |one| one.scheme && !SIZED.include?(one.scheme) }
        return unless other
        refuse("--size works with #{SIZED.map { |name| "#{name}:" }.join(", ")}; the size of #{other.scheme} is set " \
               "in the server's configuration. Remove --size")
      end

      def refuse(reason, *advice)
        raise Thor::Error, ["tiercel:install changed nothing. #{reason}", *advice].join("\n")
      end

      def test_helper
        @test_helper ||= TestHelperFile.new(read(in_root(HELPER)), Dir[in_root("test/**/*.rb")])
      end

      def in_root(path) = File.expand_path(path, destination_root)

      def read(path) = File.file?(path) ? File.read(path) : ""

      def marked?(path) = read(in_root(path)).include?(MarkedText::HEAD)

      # Yields the file's original text and writes the block's result; `destroy` restores the original text.
      def change(path)
        file = in_root(path)
        return unless File.file?(file)
        now = File.read(file)
        before = MarkedText.undone(now)
        wanted = behavior == :revoke ? before : (now == before && !installed? ? yield(before) : now)
        return say_status(:identical, path, :blue) if wanted == now
        say_status(behavior == :revoke ? :undone : :changed, path)
        File.write(file, wanted) unless options[:pretend]
      end

      # @param kinds [Array<Symbol, nil>] kinds of stores to replace; nil for a file without a store
      def with_memory(text, kinds)
        file = EnvironmentFile.new(text)
        if file.stores.empty?
          return text unless kinds.include?(nil)
          return file.with_appended('config.cache_store = :tiercel_store, "memory:"') || text
        end
        file.with(file.stores.map do |store|
          Successor.new(store, url: "memory:").statement if kinds.include?(store.kind) && store.replaceable?
        end)
      end

      def ignoring(text, path)
        return text if text.match?(%r{^/?#{Regexp.escape(path.split("/").first)}(/|/?\*+)?$})
        text.sub(/\n*\z/, "\n\n") + MarkedText.block("/#{path}*")
      end
    end
  end
end
