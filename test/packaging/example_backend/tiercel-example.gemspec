# frozen_string_literal: true

Gem::Specification.new do |spec|
  spec.name = "tiercel-example"
  spec.version = "1.0.0"
  spec.authors = ["The Tiercel developers"]
  spec.summary = "A backend of Tiercel in a gem of its own"
  spec.homepage = "https://github.com/tiercel/tiercel"
  spec.license = "MIT"
  spec.required_ruby_version = ">= 3.3"
  spec.files = Dir.glob("lib/**/*.rb", base: __dir__)
  spec.add_dependency "tiercel", ">= 0", "< 100"
end
