# frozen_string_literal: true

require "rails/generators/base"
require "tiercel"
require_relative "marked_text"
require_relative "present_store"
require_relative "successor"

module Tiercel
  # What Rails finds as `tiercel:install`.
  module Generators
    # `bin/rails generate tiercel:install`: mounts Tiercel in place of the cache store that production has today.
    #
    # What it writes into files of the application stands between two comments ({MarkedText}), with the lines that were
    # there before: so a second run changes nothing, and `bin/rails destroy tiercel:install` puts everything back.
    class InstallGenerator < Rails::Generators::Base
      source_root File.expand_path("templates", __dir__)

      desc "Mounts Tiercel in place of the cache store that config/environments/production.rb names; " \
           "sets up tests; adds the optional gems that pay; writes notes for Compose, Kamal and Kubernetes " \
           "(config/tiercel.md). `bin/rails destroy tiercel:install` undoes it."

      class_option :url, type: :string, desc: "The backend's URL, such as shared: or redis://cache:6379/0 " \
                                              "(by default what stands for the present store)"
      class_option :size, type: :string, desc: "Size of the cache, such as 1GB (shared:, sqlite:, file:)"
      class_option :test, type: :boolean, default: true, desc: "Give tests a cache: memory:, cleared before each test"
      class_option :gems, type: :boolean, default: true, desc: "Add the optional gems that pay to the Gemfile"
      class_option :notes, type: :boolean, default: true, desc: "Write config/tiercel.md"

      PRODUCTION = "config/environments/production.rb"
      TEST = "config/environments/test.rb"
      HELPER = "test/test_helper.rb"

      # @return [void]
      def mount_in_production = change(PRODUCTION) { |text| mounted(text, successor.statement, PRODUCTION) }

      # @return [void]
      def set_up_tests
        return unless options[:test]
        change(TEST) { |text| mounted(text, 'config.cache_store = :tiercel_store, "memory:"', TEST) }
        change(HELPER) do |text|
          text.sub(/^( *)class TestCase\b.*\n/) { $& + MarkedText.block("setup { Rails.cache.clear }", "#{$1}  ") }
        end
      end

      # @return [void]
      def add_gems
        return unless options[:gems]
        change("Gemfile") do |text|
          missing = successor.gems.reject { |name, _| text.match?(/^\s*gem ["']#{name}["']/) }
          missing.empty? ? text : text.sub(/\n*\z/, "\n\n") + MarkedText.block(missing.values.join("\n"))
        end
      end

      # A cache in the application's folder belongs neither into an image nor under version control.
      #
      # @return [void]
      def keep_out_of_images
        path = successor.path or return
        %w[.dockerignore .gitignore].each do |file|
          change(file) do |text|
            next text if text.match?(%r{^/?#{Regexp.escape(path.split("/").first)}(/|/?\*+)?$})
            text.sub(/\n*\z/, "\n\n") + MarkedText.block("/#{path}*")
          end
        end
      end

      # @return [void]
      def write_notes
        template "tiercel.md.tt", "config/tiercel.md" if options[:notes]
      end

      # @return [void]
      def say_what_is_left
        return if behavior == :revoke
        helped = in_root(HELPER).then { |file| read(file).include?(MarkedText::HEAD) }
        say "  Say before each test: Rails.cache.clear", :yellow if options[:test] && !helped
        successor.notes.each { |note| say "  #{note}", :yellow }
        say "  Run `bundle install`." if options[:gems] && successor.gems.any?
      end

      private

      def present = @present ||= PresentStore.find(in_root(PRODUCTION), in_root("config/application.rb"))

      def successor
        @successor ||= Successor.new(present, url: options[:url], size: options[:size],
                                              solid_cache: read(in_root("config/cache.yml")))
      end

      def in_root(path) = File.expand_path(path, destination_root)

      def read(path) = File.file?(path) ? File.read(path) : ""

      # Yields the file as it was before the first run; writes what comes back, or, for `destroy`, what was before.
      def change(path)
        file = in_root(path)
        return unless File.file?(file)
        now = File.read(file)
        before = MarkedText.undone(now)
        wanted = behavior == :revoke ? before : (now == before ? yield(before) : now)
        return say_status(:identical, path, :blue) if wanted == now
        say_status(behavior == :revoke ? :undone : :changed, path)
        File.write(file, wanted) unless options[:pretend]
      end

      def mounted(text, statement, path)
        return text unless statement
        store = PresentStore.in_text(text)
        return text if store&.kind == :tiercel_store
        if store.nil?
          return text.sub(/^end\s*\z/) { "\n#{MarkedText.block(statement, "  ")}end\n" }
        end
        return store.replaced_by(statement) if store.replaceable?
        say "  #{path}: config.cache_store is set in more than one place, or within a line. " \
            "Write: #{statement}", :yellow
        text
      end
    end
  end
end
