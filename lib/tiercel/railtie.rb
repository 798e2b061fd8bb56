# frozen_string_literal: true

require "rails/railtie"

module Tiercel
  # What a Rails application loads besides the store: the rake tasks.
  class Railtie < Rails::Railtie
    rake_tasks { load File.expand_path("../tasks/tiercel.rake", __dir__) }
  end
end
