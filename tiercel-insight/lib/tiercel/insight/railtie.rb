# frozen_string_literal: true

require "rails/railtie"

# Options, each optional:
#   config.tiercel.insight = false             # count nothing; by default off in the test environment alone
#   config.tiercel.insight_folder = "/cache/insight"     # one folder for all containers that share a cache
#   config.tiercel.audit = 0.001               # verify one hit in 1,000
#   config.tiercel.audit_options = { except: [/csrf/], values: true }
class Tiercel::Insight::Railtie < Rails::Railtie
  config.tiercel = ActiveSupport::OrderedOptions.new unless config.respond_to?(:tiercel)

  config.after_initialize do |application|
    options = application.config.tiercel
    # A store of another class starts new figures, in a folder of its own.
    default = "tmp/insight/#{Rails.cache.class.to_s.demodulize.underscore}"
    Tiercel::Insight.folder = application.root.join(options.insight_folder || default).to_s
    Tiercel::Insight.audit(options.audit, **(options.audit_options || {})) if options.audit
    wanted = options.insight.nil? ? !Rails.env.test? : options.insight
    Tiercel::Insight.start(Rails.cache) if wanted && !Tiercel::Insight.quiet?
    Tiercel::Insight::Metrics.export if defined?(::Yabeda::DSL) || defined?(::OpenTelemetry::Metrics)
  rescue SystemCallError => error
    Rails.logger&.warn("tiercel-insight counts nothing: #{error.message}")
  end

  rake_tasks { load File.expand_path("tasks.rake", __dir__) }
end
