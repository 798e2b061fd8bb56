# frozen_string_literal: true

require "tiercel"

Tiercel::Backends::REGISTRY.register(:example) do
  require_relative "tiercel/backends/example"
  Tiercel::Backends::Example
end
