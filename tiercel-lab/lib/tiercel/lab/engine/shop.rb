# frozen_string_literal: true

module Tiercel::Lab
  module Engine
    # A copy of the application in `examples/shop`, with a bundle of one Rails line and this Tiercel.
    #
    #   shop = Shop.new(folder).copy
    #   shop.bundle.install
    #   shop.prepare
    #   system(shop.environment("tiercel_store"), *shop.command("runner", "p Rails.cache"), chdir: shop.folder)
    class Shop
      SOURCE = File.expand_path("../../../../examples/shop", __dir__)
      # The root of Tiercel's repository or gem.
      ROOT = File.expand_path("../../../../..", __dir__)
      LINES = %w[8.1 8.0 7.2].freeze

      # @return [String] the folder of the copy
      attr_reader :folder
      # @return [String] one of {LINES}
      attr_reader :line

      # @param folder [String] folder of the copy
      # @param line [String] release line of Rails
      def initialize(folder, line: LINES.first)
        @folder = folder
        @line = line
      end

      # @return [self]
      def copy
        FileUtils.mkdir_p(File.dirname(folder))
        FileUtils.cp_r(SOURCE, folder)
        %w[log tmp].each { |name| FileUtils.mkdir_p(File.join(folder, name)) }
        self
      end

      # @return [Bundle]
      def bundle
        @bundle ||= Bundle.new(Gemfile.based_on("shop_#{line}", name: "tiercel", source:).write("shop_#{line}"))
      end

      # Creates the database and fills it.
      #
      # @param rails_env [String]
      # @return [void]
      # @raise [CannotRun]
      def prepare(rails_env: "production")
        log = File.join(folder, "log", "prepare.log")
        return if system(environment("null_store").merge("RAILS_ENV" => rails_env), *command("db:prepare"),
                         chdir: folder, in: File::NULL, out: log, err: log)
        raise CannotRun, "could not create the database of #{folder}:\n#{File.read(log)}"
      end

      # @param cache_store [String] the value of `CACHE_STORE` (see the application's README)
      # @return [Hash{String => String, nil}]
      def environment(cache_store)
        { **bundle.environment, "RAILS_ENV" => "production", "CACHE_STORE" => cache_store,
          "SECRET_KEY_BASE" => "5ec2e7" * 12, "BUNDLE_SILENCE_ROOT_WARNING" => "1" }
      end

      # @param arguments [Array<String>] arguments of bin/rails
      # @return [Array<String>]
      def command(*arguments) = [RbConfig.ruby, File.join(folder, "bin", "rails"), *arguments]

      private

      # The source of the gem `tiercel`: its version if it is installed, its path if it is a checkout.
      def source
        return "path: #{ROOT.inspect}" if File.exist?(File.join(ROOT, "tiercel.gemspec"))
        "\"= #{Gem.loaded_specs.fetch("tiercel").version}\""
      end
    end
  end
end
