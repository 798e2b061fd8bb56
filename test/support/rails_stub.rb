# frozen_string_literal: true

# Stubs the parts of Rails that determine a segment's name, and who may see the page.
module RailsStub
  # The application.
  Application = Struct.new(:secret_key_base, :hosts) do
    def self.name = "MyShop::Application"
    def config = self
  end

  # Runs the block as in a Rails application with this secret.
  def in_rails(secret, environment = "production", hosts: [])
    previous = Object.const_defined?(:Rails) && Object.send(:remove_const, :Rails)
    rails = Module.new
    rails.define_singleton_method(:application) { Application.new(secret, hosts) }
    rails.define_singleton_method(:env) { environment }
    Object.const_set(:Rails, rails)
    yield
  ensure
    Object.send(:remove_const, :Rails)
    Object.const_set(:Rails, previous) if previous
  end
end
