# frozen_string_literal: true
# suites: store

require "test_helper"
require "support/self_signed"
require "active_support"
require "active_support/cache/tiercel_store"
require "active_support/core_ext/numeric"
require "active_support/key_generator"
require "active_support/message_encryptor"

# Runs the Ruby code of the documents: every `config.cache_store` with our store must build one.
class ConfigurationLinesTest < Tiercel::TestCase
  DOCS = File.expand_path("../../docs", __dir__)
  PAGES = [*Dir.children(DOCS).grep(/\.md\z/), "../README.md"].select do |page|
    File.read(File.join(DOCS, page)).match?(/^config\.cache_store = :tiercel_store/)
  end.freeze

  # Receives the lines: an application's configuration and Gemfile.
  class Application
    attr_reader :stores

    def initialize = @stores = []
    def cache_store=(arguments)
      @stores << Array(arguments)
    end

    def application = self
    def key_generator = ActiveSupport::KeyGenerator.new("a secret of the application", iterations: 1)
  end

  # @return [Array<Array>] the arguments of each `config.cache_store`, and the module in which the code ran
  def run_block(code)
    application = Application.new
    place = Module.new
    place.const_set(:Rails, application)
    environment = ->(name) { name.end_with?("URL") ? "redis://127.0.0.1:1/0" : name * 4 }
    environment.define_singleton_method(:fetch) { |name, *| call(name) }
    place.const_set(:ENV, environment)
    place.const_set(:MySerializer, Marshal)
    place.const_set(:HANDLER, ->(method:, returning:, exception:) { [method, returning, exception] })
    place.define_singleton_method(:config) { application }
    place.define_singleton_method(:gem) { |*| }
    place.module_eval(code)
    [application.stores.select { |arguments| arguments.first == :tiercel_store }, place]
  end

  def blocks(page)
    File.read(File.join(DOCS, page)).scan(/^ *```ruby\n(.*?)^ *```/m).map(&:first).grep(/config\.cache_store/)
  end

  def in_an_application(&)
    with_tmpdir do |dir|
      %w[config storage].each { |name| Dir.mkdir(File.join(dir, name)) }
      File.write(File.join(dir, "config", "redis-ca.pem"), Tiercel::SelfSigned.certificate_and_key.first.to_pem)
      Dir.chdir(dir, &)
    end
  end

  PAGES.each do |page|
    define_method(:"test_#{page}") do
      lines = in_an_application do
        blocks(page).sum do |block|
          run_block(block).first.each { |arguments| built(arguments).close }.size
        end
      end
      assert_operator lines, :>, 0
    end
  end

  # An application's segment is in /dev/shm; here it is in the test's folder.
  def built(arguments)
    options = arguments.extract_options!
    arguments += ["shared:"] if arguments.none?(String)
    arguments = arguments.map { |one| one.is_a?(String) ? one.sub(/\Ashared:[^?]*/, "shared:./segment") : one }
    options = options.merge(size: "8MB") if options.key?(:size)
    store = ActiveSupport::Cache.lookup_store(*arguments, **options)
    assert_kind_of ActiveSupport::Cache::TiercelStore, store
    store.backend
  end
end
