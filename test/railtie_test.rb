# frozen_string_literal: true

# suites: store*

require "test_helper"
require "open3"

# What the Railtie does in an application; each test boots a small one in a process of its own.
class RailtieTest < Tiercel::TestCase
  APPLICATION = <<~'RUBY'
    require "rails"
    require "action_controller/railtie"
    require "tiercel"
    class Application < Rails::Application
      config.root = Dir.mktmpdir
      config.eager_load = false
      config.enable_reloading = true
      config.secret_key_base = "secret"
      config.logger = Logger.new(nil)
      config.cache_store = eval(ENV.fetch("STORE"))
    end
  RUBY

  def test_models_of_the_application_may_have_names_of_ours
    [":memory_store", ':tiercel_store, "memory:"'].each do |store|
      assert_match(/reloaded\z/, run_in_application(store, <<~RUBY))
        class Memo; end
        class Store; end
        module Metrics; end
        Application.initialize!
        Rails.cache.write("a", "b" * 5_000)
        Rails.cache.read("a")
        Rails.application.reloader.reload!
        print "reloaded"
      RUBY
    end
  end

  private

  def run_in_application(store, code)
    command = [RbConfig.ruby, *$LOAD_PATH.grep(/tiercel|views/).flat_map { |path| ["-I", path] }, "-rtmpdir", "-e",
               APPLICATION + code]
    out, status = Open3.capture2e({ "STORE" => "[#{store}]", "RAILS_ENV" => "development" }, *command)
    assert_predicate status, :success?, out
    out
  end
end
