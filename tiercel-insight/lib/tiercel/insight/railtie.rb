# frozen_string_literal: true

require "rails/railtie"

class Tiercel::Insight::Railtie < Rails::Railtie
  rake_tasks { load File.expand_path("tasks.rake", __dir__) }
end
