# frozen_string_literal: true

require "rails/railtie"

module Tiercel
  # What a Rails application loads besides the store: the rake tasks,
  # and a second look at what other gems have patched once all of them are there.
  class Railtie < Rails::Railtie
    config.after_initialize do
      Store::FastPath::Patches.recheck if defined?(Store::FastPath)
    end

    config.after_initialize do
      ActiveSupport::Reloader.before_class_unload { Memo.clear_all } if defined?(Memo)
    end

    rake_tasks { load File.expand_path("../tasks/tiercel.rake", __dir__) }
  end
end
