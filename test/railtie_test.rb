# frozen_string_literal: true

# suites: store*

require "test_helper"
require "open3"

# The Railtie in an application; each test boots a small one in a process of its own.
class RailtieTest < Tiercel::TestCase
  APPLICATION = <<~'RUBY'
    require "rails"
    require "action_controller/railtie"
    require "tiercel"
    class Application < Rails::Application
      config.root = ENV.fetch("APPLICATION_ROOT")
      config.eager_load = false
      config.enable_reloading = true
      config.secret_key_base = "secret"
      config.logger = Logger.new(nil)
      config.cache_store = eval(ENV.fetch("STORE"))
      config.tiercel.fragments = false if ENV["FRAGMENTS"] == "false"
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

  def test_eager_loading_loads_what_the_application_s_store_runs
    code = <<~'RUBY'
      Application.config.eager_load = true
      Application.config.tiercel.fragments = false
      Application.initialize!
      print(%w[fetch/miss store/hooks segment backends/redis].select do |name|
        $LOADED_FEATURES.any? { |path| path.end_with?("tiercel/#{name}.rb") }
      end)
    RUBY
    ours = run_in_application(':tiercel_store, "memory:"', code)
    assert_match(/\["fetch\/miss", "store\/hooks", "segment"\]\z/, ours)
    assert_match(/\[\]\z/, run_in_application(":memory_store", code), "an application with another store")
  end

  def test_fragments_can_be_turned_off
    code = <<~RUBY
      Application.initialize!
      ActionController::Base # loads the views
      require "action_view/base"
      ActionView::Base
      print [ActionView::Helpers::CacheHelper, ActionView::PartialRenderer].map { |one| one.ancestors.first.name }
    RUBY
    assert_includes run_in_application(':tiercel_store, "memory:"', code),
                    '["Tiercel::Fragments::Fragment", "Tiercel::Fragments::Collection"]'
    assert_includes run_in_application(':tiercel_store, "memory:"', code, "FRAGMENTS" => "false"),
                    '["ActionView::Helpers::CacheHelper", "ActionView::PartialRenderer"]'
  end

  private

  def run_in_application(store, code, env = {})
    command = [RbConfig.ruby, *$LOAD_PATH.grep(/tiercel|views/).flat_map { |path| ["-I", path] }, "-e",
               APPLICATION + code]
    with_tmpdir do |root|
      env = { "STORE" => "[#{store}]", "APPLICATION_ROOT" => root, "RAILS_ENV" => "development", **env }
      out, status = Open3.capture2e(env, *command)
      assert_predicate status, :success?, out
      out
    end
  end
end
