# frozen_string_literal: true

# Tests leave out names whose gem is not in the bundle.
class Tiercel::Registry
  def available?(name)
    fetch(name)
    true
  rescue Tiercel::MissingDependency, Tiercel::ConfigurationError
    false
  end
end
