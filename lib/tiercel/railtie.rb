# frozen_string_literal: true

require "rails/railtie"

# Tiercel in a Rails application. Constants are written from the root, because an application may have a model `Memo`
# or `Store`.
class Tiercel::Railtie < Rails::Railtie
  config.tiercel = ActiveSupport::OrderedOptions.new
  # Whether parallel test processes use separate caches (docs/testing.md).
  config.tiercel.separate_test_workers = true
  # Whether `cache` in views renders a missing fragment once among all processes (docs/caching-views.md).
  config.tiercel.fragments = true

  # Runs before the application's cache is built.
  initializer "tiercel.test_workers", before: :initialize_cache do |application|
    if Rails.env.test? && application.config.tiercel.separate_test_workers
      ::Tiercel::TestWorker.watch
    end
  end

  initializer "tiercel.model_tags" do
    ActiveSupport.on_load(:active_record) { extend ::Tiercel::ModelTags }
  end

  initializer "tiercel.fragments" do |application|
    if application.config.tiercel.fragments
      ActiveSupport.on_load(:action_view) { ::Tiercel::Fragments.install }
    end
  end

  # Agents patch Rails' stores when the application has booted. The blocks of agents were registered before this block,
  # so this block runs after them.
  initializer "tiercel.patches", after: :load_config_initializers do
    ActiveSupport.on_load(:after_initialize) { ::Tiercel::Store::Patches.booted if ::Tiercel.store_loaded? }
  end

  # Clears the memos before a code reload, because kept objects are instances of classes that are about to be replaced.
  config.after_initialize do
    ActiveSupport::Reloader.before_class_unload { ::Tiercel::Memo.clear_all if ::Tiercel.store_loaded? }
  end

  # Loads the code before a server forks, so that its workers share it.
  config.after_initialize do |application|
    ::Tiercel.eager_load! if application.config.eager_load && ::Tiercel.store_loaded?
  end

  rake_tasks { load File.expand_path("../tasks/tiercel.rake", __dir__) }
end
