import os

PORT = os.environ.get("SHOP_PORT", "5432")

SECRET_KEY = "django-insecure-hunter2"
INSTALLED_APPS = ["django.contrib.contenttypes", "django.contrib.auth", "django_dramatiq", "django_rq", "orders"]
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "HOST": "localhost",
        "PORT": PORT,
        "NAME": "shop",
        "USER": "shop",
        "PASSWORD": "hunter2",
    }
}
CELERY_BROKER_URL = f"amqp://shop:hunter2@localhost:{PORT}/prod"
CELERY_RESULT_BACKEND = f"redis://:hunter2@localhost:{PORT}/1"
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_BROKER_TRANSPORT_OPTIONS = {"confirm_publish": True}
DRAMATIQ_BROKER = {
    "BROKER": "dramatiq.brokers.rabbitmq.RabbitmqBroker",
    "OPTIONS": {"url": f"amqp://shop:hunter2@localhost:{PORT}/prod", "confirm_delivery": True},
    "MIDDLEWARE": ["dramatiq.middleware.Retries", "django_dramatiq.middleware.DbConnectionsMiddleware"],
}
RQ_QUEUES = {"default": {"HOST": "localhost", "PORT": int(PORT), "DB": 0, "PASSWORD": "hunter2"}}
